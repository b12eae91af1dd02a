"""Open and close windows of maintenance, with a reason, on record.

no window of the scope is open ──open──► a new window; its gates are closed
an open one that says the same ──open──► nothing, it is so already
an open one that says otherwise ─open──► refused: who opened it, and when
an open one ────────────────────close──► its gates open, unless another holds them
none ───────────────────────────close──► nothing, it is so already

Windows are the whole installation's: their streams are the default tenant's, and their
gates are closed for every tenant.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, Protocol
from uuid import UUID

import msgspec

from application.errors import ApplicationError, StateConflictError, WindowOpenError
from application.operators.instruction import Instruction, as_given
from application.operators.refusals import (
    DEFAULT_TENANT,
    About,
    Refusals,
    about_nothing,
    require_of_installation,
)
from application.operators.taken import Deed, done, on_record, record
from application.unit import Group, Ids, Locked, Refused, UnitOfWork, Written, changed
from domain.access.permissions import Permission
from domain.errors import DomainError, IllegalTransitionError, InvalidRequestError
from domain.event import Instant
from domain.maintenance.aggregate import (
    Announcement,
    Close,
    MaintenanceWindow,
    Open,
    Stage,
    decide,
    evolve,
)
from domain.maintenance.gates import PANEL
from domain.maintenance.parse import read_announcement, read_reason, read_scope
from domain.operators.actions import MAINTENANCE_CLOSED, MAINTENANCE_OPENED
from domain.operators.events import ActionRefused
from domain.stream import Change, Ref, StreamKind

_ROUNDS: Final = 10
"""How often a window may come and go between the look and the commit."""

_WHAT: Final = "maintenance"


class OpenWindow(msgspec.Struct, frozen=True, kw_only=True):
    """A window that is open, as it was read."""

    ref: Ref
    state: MaintenanceWindow
    correlation_id: str
    opened_by: str
    opened_at: Instant


class Windows(Protocol):
    """Looks for windows."""

    def open_windows(self) -> Sequence[OpenWindow]:
        """Return the windows that are open, one a scope at most, by their scopes."""
        ...


class Planned(msgspec.Struct, frozen=True, kw_only=True):
    """What a person says about a window, as it was said."""

    notice_ru: str
    notice_en: str
    scope: str = PANEL
    expected_return: str | None = None


class Maintained(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Where a scope stands after a person has opened or closed its window."""

    window_id: UUID | None
    """None: there was none to close."""
    scope: str
    state: str
    """`open` or `closed`."""
    events: tuple[str, ...]
    """Tags of the events that were written; none: it was so already."""
    position: int
    """A reader at this position of the log sees them, or that it was so already."""
    windows: tuple["Standing", ...]
    """All windows that are open now; each closes its own gates."""


class Standing(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One open window: of what, by whom, since when."""

    window_id: UUID
    scope: str
    opened_by: str
    opened_at: Instant


@dataclass(frozen=True, slots=True)
class Maintenance:
    """Opens and closes windows on behalf of people."""

    windows: Windows
    units: UnitOfWork
    ids: Ids

    def open(self, planned: Planned, instruction: Instruction) -> Maintained:
        """Return the open window of the scope.

        Raises:
            ForbiddenError: whoever asks may not.
            NotFoundError: windows are the default tenant's, and they are not.
            InvalidRequestError: a member is wrong, or the return is not to come.
            WindowOpenError: the scope's window says something else.
            DatabaseUnavailableError: nothing is known to be done.
        """
        opened = partial(self._opened, planned, instruction)
        return self._on_record("open_maintenance", planned.scope, instruction, opened)

    def close(self, scope: str, instruction: Instruction) -> Maintained:
        """Return what was closed, or that the scope has no open window.

        Raises:
            ForbiddenError: whoever asks may not.
            NotFoundError: windows are the default tenant's, and they are not.
            InvalidRequestError: there is no such scope, or the reason is too long.
            DatabaseUnavailableError: nothing is known to be done.
        """
        closed = partial(self._closed, scope, instruction)
        return self._on_record("close_maintenance", scope, instruction, closed)

    def _on_record(
        self,
        action: str,
        scope: str,
        instruction: Instruction,
        act: Callable[[], Maintained],
    ) -> Maintained:
        try:
            permission = Permission.MAINTENANCE_WRITE
            require_of_installation(instruction, permission, _WHAT, scope)
            return act()
        except (ApplicationError, DomainError) as error:
            target, about = self._about(scope)
            refused = ActionRefused(action=action, target=target, code=error.code)
            Refusals(self.units, self.ids).record(refused, instruction, about)
            raise

    def _about(self, scope: str) -> tuple[str, About]:
        """Return the open window of the scope, or what stands for none."""
        window = self._window(scope)
        if window is None:
            target = as_given(f"{_WHAT}:{scope}")
            return target, about_nothing(target)
        return str(window.ref.id), About(DEFAULT_TENANT, window.correlation_id)

    def _opened(self, planned: Planned, instruction: Instruction) -> Maintained:
        said = read_announcement(
            scope=planned.scope,
            reason=instruction.reason,
            notice_ru=planned.notice_ru,
            notice_en=planned.notice_en,
            expected_return=planned.expected_return,
        )
        for _ in range(_ROUNDS):
            window = self._window(said.scope)
            if window is not None:
                _require_same(window, said)
                opened = _deed(MAINTENANCE_OPENED, said.scope, window.ref)
                written = self._said(opened, instruction, window)
                return self._told(window.ref, said.scope, Stage.OPEN, written)
            ref = Ref(StreamKind.MAINTENANCE, self.ids())
            meta = instruction.meta(f"{_WHAT}:{ref.id}")
            group = Group((ref,), partial(_birth, ref, said), meta)
            opened = _deed(MAINTENANCE_OPENED, said.scope, ref)
            (result,) = self.units.commit([on_record(group, opened, self.ids())])
            if isinstance(result, Written):
                return self._told(ref, said.scope, Stage.OPEN, result)
            if result == _NOT_LATER:
                rule = "an instant that is still to come"
                raise InvalidRequestError(_NOT_LATER.code, "expectedReturn", rule)
        raise _changing(said.scope)

    def _closed(self, scope: str, instruction: Instruction) -> Maintained:
        read_scope(scope)
        read_reason(instruction.reason)
        for _ in range(_ROUNDS):
            window = self._window(scope)
            if window is None:
                closed = _deed(MAINTENANCE_CLOSED, scope)
                written = self._said(closed, instruction, None)
                return self._told(None, scope, Stage.CLOSED, written)
            meta = instruction.meta(window.correlation_id)
            group = Group((window.ref,), partial(_ended, window.ref), meta)
            closed = _deed(MAINTENANCE_CLOSED, scope, window.ref)
            (result,) = self.units.commit([on_record(group, closed, self.ids())])
            if isinstance(result, Written):
                return self._told(window.ref, scope, Stage.CLOSED, result)
        raise _changing(scope)

    def _window(self, scope: str) -> OpenWindow | None:
        windows = self.windows.open_windows()
        return next((each for each in windows if each.state.scope == scope), None)

    def _said(
        self, deed: Deed, instruction: Instruction, window: OpenWindow | None
    ) -> Written:
        """Record that it was so already."""
        ties = deed.target if window is None else window.correlation_id
        meta = instruction.meta(ties)
        return record(self.units, self.ids, deed, DEFAULT_TENANT, meta)

    def _told(
        self, ref: Ref | None, scope: str, stage: Stage, written: Written
    ) -> Maintained:
        changes = done(written)
        return Maintained(
            window_id=None if ref is None else ref.id,
            scope=scope,
            state=stage,
            events=tuple(event.tag for each in changes for event in each.events),
            position=written.position,
            windows=tuple(
                Standing(
                    window_id=each.ref.id,
                    scope=each.state.scope,
                    opened_by=each.opened_by,
                    opened_at=each.opened_at,
                )
                for each in self.windows.open_windows()
            ),
        )


def _deed(action: str, scope: str, ref: Ref | None = None) -> Deed:
    return Deed(
        action=action,
        target_kind=_WHAT,
        target=f"{_WHAT}:{scope}" if ref is None else str(ref.id),
        refs=() if ref is None else (ref,),
    )


_NOT_LATER: Final = Refused("return_not_later")


def _birth(
    ref: Ref, said: Announcement, _locked: Locked, now: Instant
) -> tuple[Change, ...] | Refused:
    unborn = MaintenanceWindow()
    try:
        (event,) = decide(unborn, Open(said=said, at=now))
    except InvalidRequestError:
        return _NOT_LATER
    return (
        Change(
            ref=ref,
            tenant_id=DEFAULT_TENANT,
            expected=0,
            events=(event,),
            state=evolve(unborn, event),
        ),
    )


def _require_same(window: OpenWindow, said: Announcement) -> None:
    try:
        decide(window.state, Open(said=said, at=window.opened_at))
    except IllegalTransitionError as error:
        raise WindowOpenError(
            said.scope,
            window=str(window.ref.id),
            opened_by=window.opened_by,
            since=f"{window.opened_at:%Y-%m-%d %H:%M:%S}Z",
        ) from error


def _ended(ref: Ref, locked: Locked, _now: Instant) -> tuple[Change, ...] | Refused:
    head = locked.get(ref)
    if head is None or not isinstance(head.state, MaintenanceWindow):
        return Refused("gone")
    events = decide(head.state, Close())
    window = head.state
    for event in events:
        window = evolve(window, event)
    return (changed(ref, head, events, window),) if events else ()


def _changing(scope: str) -> StateConflictError:
    return StateConflictError(_WHAT, f"of {scope}", "changing", "ask again")
