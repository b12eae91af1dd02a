"""Decide and evolve: one customer's access to one panel user.

 (unborn) ──Settle──► live ──Settle, AddOn, Adjust──► live (desired version + 1)
                       │ ▲
                       └─┘ Pause ⇄ Resume, Disable ⇄ Enable (desired version + 1)
                           Observe (only when the panel shows something new)
                           Detect ⇄ Resolve (a kind of drift opens, and ends)

Paused and disabled are independent: the panel shows DISABLED exactly when it is one
of the two.  A settlement ends the disabling and never the pause.
"""

from typing import assert_never

from msgspec.structs import replace

from domain.entitlement.change import added, adjusted, settled
from domain.entitlement.commands import (
    STANDING,
    AddOn,
    Adjust,
    Detect,
    Disable,
    Enable,
    EntitlementCommand,
    Observe,
    Pause,
    Resolve,
    Resume,
    Settle,
)
from domain.entitlement.events import (
    DesiredChanged,
    Disabled,
    DriftDetected,
    DriftResolved,
    Enabled,
    EntitlementEvent,
    Granted,
    Paused,
    Resumed,
    Seen,
)
from domain.entitlement.state import Drift, Entitlement, Stage
from domain.entitlement.timeline import come_by, thawed
from domain.errors import IllegalTransitionError

PAUSED = "paused"
NOT_PAUSED = "not_paused"
UNREADABLE = "unreadable"
"""Stages by which a pause, a resumption or an enabling is refused; the last one, by
which everything is."""


def decide(
    entitlement: Entitlement, command: EntitlementCommand
) -> tuple[EntitlementEvent, ...]:
    """Return the facts that `command` causes; none means "already so".

    Raises:
        IllegalTransitionError: the command makes no sense as things are, such as
            anything but a settlement of an entitlement that nobody granted.
        InvalidRequestError: an operator's new end is no later than the present one.
    """
    if entitlement.is_unreadable:
        raise _refused(UNREADABLE, command)
    match command:
        case Settle():
            return _settle(entitlement, command)
        case AddOn() | Adjust():
            _require_live(entitlement, command)
            change = (
                added(entitlement, command)
                if isinstance(command, AddOn)
                else adjusted(entitlement, command)
            )
            return (change, *_enabled_by_then(entitlement, command, change))
        case Pause() | Resume() | Disable() | Enable():
            _require_live(entitlement, command)
            if isinstance(command, Disable) and _stays_disabled(entitlement):
                return ()
            return (_switched(entitlement, command),)
        case Observe():
            _require_live(entitlement, command)
            if command.observed == entitlement.observed:
                return ()
            return (Seen(observed=command.observed),)
        case Detect() | Resolve():
            _require_live(entitlement, command)
            return _drifted(entitlement, command)
        case _:
            assert_never(command)


def _settle(entitlement: Entitlement, command: Settle) -> tuple[EntitlementEvent, ...]:
    changed = settled(entitlement, command)
    events: tuple[EntitlementEvent, ...] = (changed,)
    is_put_off = any(it.version == changed.desired_version for it in changed.upcoming)
    if entitlement.is_disabled and not is_put_off and STANDING not in command.kept:
        events = (changed, Enabled(desired_version=changed.desired_version))
    elif is_put_off:
        events = (changed, *_enabled_by_then(entitlement, command, changed))
    if entitlement.stage is not Stage.UNBORN:
        return events
    granted = Granted(
        customer_id=command.customer_id,
        slot=command.slot,
        username=command.username,
        legacy_username=command.legacy_username,
    )
    return (granted, *events)


def _enabled_by_then(
    entitlement: Entitlement, command: Settle | AddOn | Adjust, changed: DesiredChanged
) -> tuple[Enabled, ...]:
    """Return that what has come until the change had ended the disabling."""
    at = command.settled_at if isinstance(command, Settle) else command.at
    if entitlement.is_disabled and not come_by(entitlement, at).is_disabled:
        return (Enabled(desired_version=changed.desired_version),)
    return ()


def _stays_disabled(entitlement: Entitlement) -> bool:
    """Whether it is disabled, and nothing that is to come will end that."""
    disabled = entitlement.disabled_version
    return disabled is not None and not any(
        it.version > disabled for it in entitlement.upcoming
    )


def _switched(
    entitlement: Entitlement, command: Pause | Resume | Disable | Enable
) -> EntitlementEvent:
    version = entitlement.desired_version + 1
    match command:
        case Pause():
            if entitlement.paused_at is not None:
                raise _refused(PAUSED, command)
            return Paused(desired_version=version, paused_at=command.at)
        case Resume():
            rested = thawed(entitlement, command.at)
            if rested.paused_at is None or rested.desired is None:
                raise _refused(NOT_PAUSED, command)
            return Resumed(
                desired_version=version,
                desired=rested.desired,
                upcoming=rested.upcoming,
            )
        case Disable():
            return Disabled(desired_version=version)
        case Enable():
            if entitlement.paused_at is not None:
                raise _refused(PAUSED, command)
            return Enabled(desired_version=version)
        case _:
            assert_never(command)


def _drifted(
    entitlement: Entitlement, command: Detect | Resolve
) -> tuple[EntitlementEvent, ...]:
    match command:
        case Detect():
            return tuple(
                DriftDetected(
                    kind=drift.kind, expected=drift.expected, observed=drift.observed
                )
                for drift in command.drifts
                if drift not in entitlement.drifts
            )
        case Resolve():
            return tuple(
                DriftResolved(kind=drift.kind)
                for drift in entitlement.drifts
                if drift.kind in command.kinds
            )
        case _:
            assert_never(command)


def _require_live(entitlement: Entitlement, command: EntitlementCommand) -> None:
    if entitlement.stage is Stage.UNBORN:
        raise _refused(entitlement.stage, command)


def _refused(stage: str, command: EntitlementCommand) -> IllegalTransitionError:
    name = type(command).__name__.lower()
    return IllegalTransitionError(stage, name, stream="entitlement")


def evolve(entitlement: Entitlement, event: EntitlementEvent) -> Entitlement:
    """Return the state after `event`.  Total: history is never rejected."""
    entitlement = replace(entitlement, version=entitlement.version + 1)
    match event:
        case Granted():
            return replace(
                entitlement,
                stage=Stage.LIVE,
                customer_id=event.customer_id,
                slot=event.slot,
                username=event.username,
                legacy_username=event.legacy_username,
            )
        case DesiredChanged():
            return _owed(entitlement, event)
        case Paused() | Resumed() | Disabled() | Enabled():
            return _after_switch(entitlement, event)
        case Seen():
            return replace(entitlement, observed=event.observed)
        case DriftDetected():
            drift = Drift(event.kind, event.expected, event.observed)
            return _with_drift(entitlement, event.kind, drift)
        case DriftResolved():
            return _with_drift(entitlement, event.kind)
        case _:
            assert_never(event)


def _owed(entitlement: Entitlement, event: DesiredChanged) -> Entitlement:
    return replace(
        entitlement,
        desired=event.desired,
        desired_version=event.desired_version,
        paid_at=event.paid_at,
        upcoming=event.upcoming,
        paused_at=event.paused_at,
    )


def _after_switch(
    entitlement: Entitlement, event: Paused | Resumed | Disabled | Enabled
) -> Entitlement:
    version = event.desired_version
    entitlement = replace(entitlement, desired_version=version)
    match event:
        case Paused():
            return replace(entitlement, paused_at=event.paused_at)
        case Resumed():
            rested = replace(entitlement, desired=event.desired, paused_at=None)
            return replace(rested, upcoming=event.upcoming)
        case Disabled():
            return replace(entitlement, disabled_version=version)
        case Enabled():
            return replace(entitlement, disabled_version=None)
        case _:
            assert_never(event)


def _with_drift(entitlement: Entitlement, kind: str, *drift: Drift) -> Entitlement:
    others = tuple(it for it in entitlement.drifts if it.kind != kind)
    return replace(entitlement, drifts=(*others, *drift))
