"""Pause and resume projections, with a reason, on record.

follows ──pause──► paused                     its rows stay as they are
paused, by the same person for the same reason ──pause──► nothing, it is so already
paused otherwise ──pause──► refused: who paused it, and when
paused ──resume──► follows                    and what was set aside is tried again
not paused, something is set aside ──resume──► that is tried again
else ──resume──► nothing, it is so already

Projections are the whole installation's, whichever tenants their rows belong to.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final, Protocol

import msgspec

from application.errors import (
    ApplicationError,
    NotFoundError,
    ProjectionPausedError,
)
from application.once.commit import making
from application.operators.instruction import Instruction, as_given
from application.operators.refusals import (
    DEFAULT_TENANT,
    About,
    Refusals,
    require_of_installation,
)
from application.operators.taken import Deed, Telling
from application.unit import Ids, Once, UnitOfWork
from domain.access.permissions import Permission
from domain.event import Instant, JsonObject
from domain.operators.actions import PROJECTION_PAUSED, PROJECTION_RESUMED
from domain.operators.events import (
    ActionRefused,
    ProjectionPaused,
    ProjectionResumed,
)

_WHAT: Final = "projection"

type Switch = ProjectionPaused | ProjectionResumed


class Pause(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Since when a projection is paused, by whom and why."""

    at: Instant
    by: str
    reason: str


class Followed(msgspec.Struct, frozen=True, kw_only=True):
    """Where a projection stands, read under its lock."""

    name: str
    slot: str
    """The one of its two tables that is read."""
    position: int
    """How far its rows have followed the log."""
    pause: Pause | None
    set_aside: int
    """How many events could not be folded, or wait for one that could not."""

    def figures(self) -> JsonObject:
        """Return what the audit shows of it."""
        pause = self.pause
        return {
            "state": "following" if pause is None else "paused",
            "paused_by": None if pause is None else pause.by,
            "slot": self.slot,
            "set_aside": self.set_aside,
        }


class Done(msgspec.Struct, frozen=True, kw_only=True):
    """What a change has written, and where the projection stands after it."""

    after: Followed
    event: Switch | None
    position: int
    """Of the record, which is behind the event."""


class Retried(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What became of events that had been set aside."""

    tried: int
    """How many events were tried again, whatever came of it."""
    left: int
    """How many events are set aside now."""


type Decide = Callable[[Followed], Switch | None]
"""What is to be done to a locked projection; may refuse by raising."""


class ProjectionSwitches(Protocol):
    """Changes the row of a projection."""

    def change(
        self, name: str, decide: Decide, telling: Telling, once: Once | None = None
    ) -> Done | None:
        """Return what was done, committed with its record.

        Also when it was so already; None: there is no such projection.

        Raises:
            AnsweredBeforeError: the request of that key was carried out before.
            ApplicationError: what `decide` raised; nothing is written.
            DatabaseUnavailableError: nothing is known to be done.
        """
        ...

    def retry(self, name: str) -> Retried | None:
        """Return what became of what was set aside, tried again and committed.

        None: this version knows no such projection, and has tried nothing.

        Raises:
            DatabaseUnavailableError: what is done so far stays done.
        """
        ...


class Switched(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Where a projection stands after a person has paused or resumed it."""

    projection: str
    pause: Pause | None
    """None: it follows the log."""
    events: tuple[str, ...]
    """Tags of the events that were written; none: it was so already."""
    position: int
    """A reader at this position of the log sees them, or that it was so already."""
    retried: Retried | None = None
    """What became of what was set aside; None: nothing was."""


@dataclass(frozen=True, slots=True)
class Projections:
    """Pauses and resumes on behalf of people."""

    switches: ProjectionSwitches
    units: UnitOfWork
    ids: Ids

    def pause(self, name: str, instruction: Instruction) -> Switched:
        """Return since when, by whom and why the projection is paused.

        Raises:
            ForbiddenError: whoever asks may not.
            NotFoundError: there is no such projection, or none for their tenant.
            ProjectionPausedError: somebody has paused it in other words.
            DatabaseUnavailableError: nothing is known to be done.
        """
        paused = partial(self._paused, name, instruction)
        return self._on_record("pause_projection", name, instruction, paused)

    def resume(self, name: str, instruction: Instruction) -> Switched:
        """Return that the projection follows, and what became of what was set aside.

        Raises:
            ForbiddenError: whoever asks may not.
            NotFoundError: there is no such projection, or none for their tenant.
            DatabaseUnavailableError: nothing more is known to be done; again is safe.
        """
        resumed = partial(self._resumed, name, instruction)
        return self._on_record("resume_projection", name, instruction, resumed)

    def _on_record(
        self,
        action: str,
        name: str,
        instruction: Instruction,
        act: Callable[[], Switched],
    ) -> Switched:
        try:
            permission = Permission.PROJECTIONS_WRITE
            require_of_installation(instruction, permission, _WHAT, name)
            return act()
        except ApplicationError as error:
            target = as_given(f"{_WHAT}:{name}")
            refused = ActionRefused(action=action, target=target, code=error.code)
            about = About(DEFAULT_TENANT, target)
            Refusals(self.units, self.ids).record(refused, instruction, about)
            raise

    def _paused(self, name: str, instruction: Instruction) -> Switched:
        pause = partial(_pause, instruction)
        return _told(self._changed(name, PROJECTION_PAUSED, pause, instruction))

    def _resumed(self, name: str, instruction: Instruction) -> Switched:
        done = self._changed(name, PROJECTION_RESUMED, _resume, instruction)
        # After the commit: trying again takes as long as the streams are, and whoever
        # dies in between finds them set aside still, and resumes once more.
        retried = self.switches.retry(name) if done.after.set_aside else None
        return _told(done, retried)

    def _changed(
        self, name: str, action: str, decide: Decide, instruction: Instruction
    ) -> Done:
        target = as_given(f"{_WHAT}:{name}")
        deed = Deed(action=action, target_kind=_WHAT, target=target)
        telling = Telling(deed, instruction.meta(target))
        once = making(instruction.once, _WHAT, name)
        done = self.switches.change(name, decide, telling, once)
        if done is None:
            raise NotFoundError(_WHAT, name)
        return done


def _pause(instruction: Instruction, followed: Followed) -> Switch | None:
    pause = followed.pause
    if pause is None:
        return ProjectionPaused(
            projection=followed.name, slot=followed.slot, position=followed.position
        )
    if (pause.by, pause.reason) == (instruction.actor.id, instruction.reason):
        return None
    since = f"{pause.at:%Y-%m-%d %H:%M:%S}Z"
    raise ProjectionPausedError(followed.name, paused_by=pause.by, since=since)


def _resume(followed: Followed) -> Switch | None:
    if followed.pause is None and not followed.set_aside:
        return None
    return ProjectionResumed(
        projection=followed.name,
        slot=followed.slot,
        position=followed.position,
        set_aside=followed.set_aside,
    )


def _told(done: Done, retried: Retried | None = None) -> Switched:
    return Switched(
        projection=done.after.name,
        pause=done.after.pause,
        events=() if done.event is None else (done.event.tag,),
        position=done.position,
        retried=retried,
    )
