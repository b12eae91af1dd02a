"""What may be asked of a bulk operation."""

from collections.abc import Mapping
from uuid import UUID

import msgspec

from domain.event import Actor, JsonObject

OPERATOR = "operator"
"""Code of what a person has asked for, not a job's end."""


class Tally(msgspec.Struct, frozen=True, kw_only=True):
    """How many items were begun, by their ends."""

    done: int = 0
    refused: int = 0


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """Have an action carried out on many things, which are to be chosen."""

    action: str
    items_per_second: float
    most_items: int
    most_unapproved: int
    requested_by: Actor
    reason: str
    job: UUID
    parameters: JsonObject = msgspec.field(default_factory=dict[str, object])
    filter: str | None = None
    role: str | None = None


class Freeze(msgspec.Struct, frozen=True, kw_only=True):
    """Say that the things are chosen, and when."""

    items: int
    position: int = 0


class Preview(msgspec.Struct, frozen=True):
    """Say what would become of the items; every one was looked at."""

    verdicts: Mapping[str, int]


class Approve(msgspec.Struct, frozen=True):
    """Let it begin, as another person than the one who asked."""

    by: Actor


class Start(msgspec.Struct, frozen=True):
    """Begin to carry the items out, by `job`."""

    job: UUID


class Pause(msgspec.Struct, frozen=True):
    """Begin no further item for now."""

    code: str = OPERATOR


class Resume(msgspec.Struct, frozen=True):
    """Go on after a pause, by `job`."""

    job: UUID


class Cancel(msgspec.Struct, frozen=True, kw_only=True):
    """Begin no further item for good."""

    tally: Tally
    code: str = OPERATOR


class Finish(msgspec.Struct, frozen=True, kw_only=True):
    """Say that no item is left."""

    tally: Tally


type BulkCommand = (
    Request | Freeze | Preview | Approve | Start | Pause | Resume | Cancel | Finish
)
