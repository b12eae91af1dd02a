"""What every stored event is made of: its facts, and the meta data beside them.

An event class is a storage contract.  Its `tag` and `schema` are written down
here in the code, never derived from a module path; a tag is never reused, a
field never re-typed, and a changed meaning gets the next schema number with an
upcaster.  When something happened is a column of the log (`recorded_at`), so
no event has a field for it.
"""

from datetime import datetime
from typing import Annotated, ClassVar, Literal
from uuid import UUID

import msgspec

type Instant = Annotated[datetime, msgspec.Meta(tz=True)]
"""A moment in UTC; decoding refuses naive times."""

type JsonObject = dict[str, object]
"""Caller-made JSON that the product carries without reading it."""


class Event(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What all facts share: a stored tag and the number of its schema."""

    tag: ClassVar[str]
    schema: ClassVar[int] = 1


type ActorType = Literal["shop", "operator", "worker", "pass", "provider", "system"]


class Actor(msgspec.Struct, frozen=True, gc=False):
    """Who did it: the kind of actor and its name."""

    type: ActorType
    id: str


class Causation(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False
):
    """Why it was done: the event, request or claimed job that led to it."""

    event: int | None = None
    """Position of the causing event."""
    request_id: str | None = None
    job: UUID | None = None
    token: int | None = None
    """Fencing token under which the job's worker wrote."""


class Meta(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """Who, why and in which unit of work, stored beside the facts (I9)."""

    actor: Actor
    correlation_id: str
    causation: Causation = Causation()
    commit_id: UUID | None = None
    """Made by the client; tells after a lost answer whether the unit committed."""
    reason: str | None = None
    """What an operator gave as the reason; required of operators."""
    trace: str | None = None
    role: str | None = None
    """Of the person who asked for it, when they asked as somebody with a role."""
    action: str | None = None
    """The action that it is part of, whose `operator.action_taken` tells the whole."""
