"""Facts about one bulk operation (a storage contract, see domain.event).

What became of each item is no event of this stream: it is the item's row, written
with the events of the thing that the action was carried out on.
"""

from collections.abc import Mapping
from typing import ClassVar
from uuid import UUID

from domain.event import Actor, Event, JsonObject


class Requested(Event, frozen=True, kw_only=True):
    """Somebody asked for an action on many things."""

    tag: ClassVar[str] = "bulk.requested"
    action: str
    """What is done to each: `retry`, `cancel` …"""
    parameters: JsonObject
    """Of the action, the same for each."""
    filter: str | None
    """What the things were chosen by; None: they were named."""
    items_per_second: float
    most_items: int
    """With more items it is cancelled."""
    most_unapproved: int
    """With more items, another person has to approve of it."""
    requested_by: Actor
    role: str | None
    """Of whoever asked, if it was a person."""
    reason: str
    job: UUID
    """Of the job that previews it."""


class Frozen(Event, frozen=True, kw_only=True):
    """The things were chosen; they are these from now on, whatever becomes of them."""

    tag: ClassVar[str] = "bulk.frozen"
    items: int
    position: int
    """How far what they were chosen from had followed the log; 0: they were named."""


class Previewed(Event, frozen=True, kw_only=True):
    """Each item was looked at: what would become of it, if it were carried out now."""

    tag: ClassVar[str] = "bulk.previewed"
    verdicts: Mapping[str, int]
    """How many items would have that end."""


class Approved(Event, frozen=True, kw_only=True):
    """Another person lets it begin."""

    tag: ClassVar[str] = "bulk.approved"
    approved_by: Actor


class Started(Event, frozen=True, kw_only=True):
    """Its items are carried out from now on, one after the other."""

    tag: ClassVar[str] = "bulk.started"
    job: UUID


class Paused(Event, frozen=True, kw_only=True):
    """No further item is begun until it is resumed."""

    tag: ClassVar[str] = "bulk.paused"
    code: str
    """`operator`, or why its job has ended."""


class Resumed(Event, frozen=True, kw_only=True):
    """It goes on with the first item that was not begun."""

    tag: ClassVar[str] = "bulk.resumed"
    job: UUID
    """That carries it out; the one it had, when that has not ended yet."""


class Cancelled(Event, frozen=True, kw_only=True):
    """Items that were not begun are not carried out; the others stay as they are."""

    tag: ClassVar[str] = "bulk.cancelled"
    code: str
    """`operator`, `bulk_limit`, or why its job has ended."""
    done: int
    refused: int
    left: int
    """How many were not begun."""


class Finished(Event, frozen=True, kw_only=True):
    """Each item was carried out or refused."""

    tag: ClassVar[str] = "bulk.finished"
    done: int
    refused: int


type BulkEvent = (
    Requested
    | Frozen
    | Previewed
    | Approved
    | Started
    | Paused
    | Resumed
    | Cancelled
    | Finished
)
