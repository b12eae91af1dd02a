"""What an operator asks of an entitlement, decided once its head is locked; pure.

extend, set_limits, set_squads, reset_traffic    the desired state changes
enable, disable, pause, resume                   the standing changes
reconcile                                        nothing changes: it is about what is

Together with it the operation and its job are born.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

import msgspec
from msgspec.structs import replace

from application import births
from application.errors import ApplicationError, StateConflictError
from application.operators.entitlements import Found
from application.unit import Locked, Refused, changed
from domain.entitlement import aggregate as entitlements
from domain.entitlement.aggregate import UNREADABLE
from domain.entitlement.commands import (
    Adjust,
    Disable,
    Enable,
    EntitlementCommand,
    Given,
    Pause,
    Resume,
)
from domain.entitlement.state import Entitlement
from domain.entitlement.timeline import in_force
from domain.errors import IllegalTransitionError, InvalidRequestError
from domain.event import Event, Instant
from domain.fulfillment import operations
from domain.fulfillment.commands import Request
from domain.stream import Change, Ref

ENTITLEMENT: Final = "entitlement"
CONFLICT: Final = "state_"
"""Refusals begin with this when the state forbids what was asked for."""

NOT_LATER = Refused("ends_at_not_later")


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One operation that a person asks for."""

    entitlement: Ref
    operation: str
    given: Given
    key: str
    ids: Sequence[UUID]
    """Of the operation and its job, made before: the decision may be repeated."""
    refs: tuple[Ref, ...]
    """The heads to lock."""

    def __call__(self, locked: Locked, now: Instant) -> tuple[Change, ...] | Refused:
        """Return the change of the entitlement, the operation and its job."""
        head = locked.get(self.entitlement)
        entitlement = None if head is None else head.state
        if head is None or not isinstance(entitlement, Entitlement):
            return Refused("gone")
        if entitlement.is_unreadable:
            return Refused(CONFLICT + UNREADABLE)
        command = self._command(now)
        happened: tuple[Event, ...] = ()
        if command is not None:
            try:
                events = entitlements.decide(entitlement, command)
            except IllegalTransitionError as error:
                return Refused(CONFLICT + error.stage)
            except InvalidRequestError:
                return NOT_LATER
            if not events:
                return Refused(CONFLICT + "disabled")
            for event in events:
                entitlement = entitlements.evolve(entitlement, event)
            happened = events
        request = self._request(entitlement, now)
        if request is None:
            return Refused("gone")
        ids = iter(self.ids)
        born = births.requested(lambda: next(ids), head.tenant_id, request, now)
        if not happened:
            return born
        return (changed(self.entitlement, head, happened, entitlement), *born)

    def _command(self, now: Instant) -> EntitlementCommand | None:
        match self.operation:
            case operations.RECONCILE:
                return None
            case operations.ENABLE:
                return Enable()
            case operations.DISABLE:
                return Disable()
            case operations.PAUSE:
                return Pause(at=now)
            case operations.RESUME:
                return Resume(at=now)
            case operations.RESET_TRAFFIC:
                return Adjust(at=now, reset_traffic=True)
            case _:
                return Adjust(at=now, **msgspec.structs.asdict(self.given))

    def _request(self, entitlement: Entitlement, now: Instant) -> Request | None:
        desired = in_force(entitlement, now)
        if desired is None:
            return None
        resets = self.operation == operations.RESET_TRAFFIC
        return Request(
            entitlement=self.entitlement.id,
            order=None,
            operation=self.operation,
            desired_version=entitlement.desired_version,
            desired=replace(desired, reset_traffic=resets),
            effective_at=now,
            idempotency_key=self.key,
        )


def refusal(
    operation: str, found: Found, refused: Refused
) -> ApplicationError | InvalidRequestError:
    """Return what a person is told, with what can be done instead."""
    if refused == NOT_LATER:
        state = found.head.state
        ends = state.desired if isinstance(state, Entitlement) else None
        rule = "later than the present end"
        if ends is not None:
            rule += f", {ends.ends_at.isoformat()}"
        return InvalidRequestError(refused.code, "endsAt", rule)
    stage = refused.code.removeprefix(CONFLICT)
    remedy = _remedy(operation, stage)
    return StateConflictError(ENTITLEMENT, str(found.ref.id), stage, remedy)


def _remedy(operation: str, stage: str) -> str:
    match operation, stage:
        case _, "not_paused":
            return "only a pause is resumed; `enable` takes a disabling back"
        case "enable", "paused":
            return "resume it first: that gives the paused time back"
        case "pause", "paused":
            return "it rests already; `reconcile` brings the panel to that"
        case _, "unreadable":
            return "its row holds what nobody can read; restore it from its stream"
        case _, "disabled":
            return "it is off already; `reconcile` brings the panel to that"
        case _:
            return "ask again"
