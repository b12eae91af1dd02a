"""The shape that every head's module fills in."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import LiteralString, cast
from uuid import UUID

import msgspec

from application.unit import Head
from domain.event import Instant, Meta
from domain.stream import Change, State

type Row = tuple[object, ...]
type Columns = dict[str, object]

_encoder = msgspec.json.Encoder()


@dataclass(frozen=True, slots=True)
class HeadTable:
    """How one kind of head is locked, read and written."""

    read: LiteralString
    """SELECT … WHERE stream_id = ANY(%(ids)s); its columns are what `head` takes."""
    insert: LiteralString
    update: LiteralString
    head: Callable[[Row], tuple[UUID, Head]]
    columns: Callable[[Change, Meta], Columns]
    """The row of a birth; an update uses the folded ones among them."""

    @property
    def lock(self) -> LiteralString:
        """`read` in id order, holding the rows until the transaction's end."""
        return self.read + " ORDER BY stream_id FOR UPDATE"


def rows_as_json(rows: Sequence[Columns]) -> str:
    """Return rows as the JSON array that `jsonb_populate_recordset` reads.

    Raises:
        UnicodeEncodeError: a text holds a lone surrogate.
    """
    return _encoder.encode(rows).decode()


def folded(state: State) -> Columns:
    """Return the state's fields as columns; nested structs become JSON."""
    columns: Columns = msgspec.to_builtins(state)
    columns["state"] = columns.pop("stage")
    return columns


def text(value: object) -> str:
    """Return a column that the table declares as NOT NULL text."""
    return cast("str", value)


def maybe_text(value: object) -> str | None:
    """Return a column of text that may be NULL."""
    return cast("str | None", value)


def number(value: object) -> int:
    """Return a column that the table declares as a NOT NULL number."""
    return cast("int", value)


def uuid(value: object) -> UUID:
    """Return a column that the table declares as NOT NULL uuid."""
    return cast("UUID", value)


def maybe_uuid(value: object) -> UUID | None:
    """Return a column of uuid that may be NULL."""
    return cast("UUID | None", value)


def instant(value: object) -> Instant:
    """Return a column that the table declares as NOT NULL timestamptz."""
    return cast("Instant", value)


def maybe_instant(value: object) -> Instant | None:
    """Return a column of timestamptz that may be NULL."""
    return cast("Instant | None", value)
