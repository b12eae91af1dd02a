"""What a handler says when it has finished: outcomes are values, not exceptions.

`changes` are the new events of the handler's own streams; they are committed
together with the job's own event or not at all.  A user's own kind leaves them
empty.
"""

import msgspec

from domain.event import Instant, JsonObject
from domain.stream import Change


class Completed(msgspec.Struct, frozen=True, kw_only=True):
    """The work is done; `result` is a small summary without secrets."""

    result: JsonObject | None = None
    changes: tuple[Change, ...] = ()


class Retry(msgspec.Struct, frozen=True, kw_only=True):
    """The attempt failed and is spent; try again by the kind's backoff."""

    code: str
    error: str = ""
    not_before_seconds: float | None = None
    """What the provider's Retry-After asked for; the backoff never undercuts it."""
    changes: tuple[Change, ...] = ()


class Snooze(msgspec.Struct, frozen=True, kw_only=True):
    """Not yet: run again at `until`; costs no attempt."""

    until: Instant
    cause: str = "snoozed"
    changes: tuple[Change, ...] = ()


class Park(msgspec.Struct, frozen=True, kw_only=True):
    """Something outside must change first; costs no attempt."""

    cause: str
    error: str = ""
    changes: tuple[Change, ...] = ()


class Gated(msgspec.Struct, frozen=True, kw_only=True):
    """A closed gate is in the way; waits for its opening, and costs no attempt.

    For the product's own kinds: gates are closed by maintenance, not by handlers.
    """

    gate: str
    cause: str
    """Why the gate is closed (`maintenance_active`)."""
    error: str = ""
    changes: tuple[Change, ...] = ()


class Fail(msgspec.Struct, frozen=True, kw_only=True):
    """Trying again cannot help; the job is discarded."""

    code: str
    error: str = ""
    changes: tuple[Change, ...] = ()


class Cancel(msgspec.Struct, frozen=True, kw_only=True):
    """The work is not wanted any more."""

    code: str
    changes: tuple[Change, ...] = ()


class Ambiguous(msgspec.Struct, frozen=True, kw_only=True):
    """Nobody knows whether it happened; a person must look before it runs again."""

    code: str
    error: str = ""
    changes: tuple[Change, ...] = ()


type Outcome = Completed | Retry | Snooze | Park | Gated | Fail | Cancel | Ambiguous
