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

    name: LiteralString
    read: LiteralString
    """SELECT … WHERE stream_id = ANY(%(ids)s); its columns are what `head` takes."""
    width: int
    """How many columns that are."""
    insert: LiteralString
    """Of %(rows)s."""
    update: LiteralString
    """By %(rows)s, and %(ids)b of the same rows: whatever is joined, by the key."""
    head: Callable[[Row], tuple[UUID, Head]]
    columns: Callable[[Change, Meta], Columns]
    """The row of a birth; an update uses the folded ones among them."""


def rows_as_json(rows: Sequence[Columns]) -> str:
    """Return rows as the JSON array that `jsonb_populate_recordset` reads.

    What is None is left out: that is NULL as well, and less to parse.

    Raises:
        UnicodeEncodeError: a text holds a lone surrogate.
    """
    told = [{k: v for k, v in row.items() if v is not None} for row in rows]
    return _encoder.encode(told).decode()


def folded(state: State) -> Columns:
    """Return the state's fields as columns; nested structs become JSON later."""
    columns: Columns = msgspec.structs.asdict(state)
    columns["state"] = columns.pop("stage")
    return columns


def document[T](decoder: msgspec.json.Decoder[T], value: object) -> T | None:
    """Return a JSON column, or None when it holds what this version cannot read.

    One row that somebody has spoilt must not stop whoever locks it beside others.
    """
    try:
        return decoder.decode(text(value))
    except msgspec.ValidationError:
        return None


def text(value: object) -> str:
    """Return a column that the table declares as NOT NULL text."""
    return cast("str", value)


def maybe_text(value: object) -> str | None:
    """Return a column of text that may be NULL."""
    return cast("str | None", value)


def number(value: object) -> int:
    """Return a column that the table declares as a NOT NULL number."""
    return cast("int", value)


def maybe_number(value: object) -> int | None:
    """Return a column of numbers that may be NULL."""
    return cast("int | None", value)


def truth(value: object) -> bool:
    """Return a column that the table declares as NOT NULL boolean."""
    return cast("bool", value)


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
