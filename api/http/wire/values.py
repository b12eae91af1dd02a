"""Instants and positions on the wire."""

from datetime import UTC, datetime
from typing import Annotated

import msgspec

type Moment = Annotated[
    str,
    msgspec.Meta(
        description="RFC 3339 in UTC, with microseconds",
        extra_json_schema={"format": "date-time"},
        examples=["2026-11-30T12:00:00.000000Z"],
    ),
]
type Position = Annotated[
    str,
    msgspec.Meta(
        description="A position of the log; text, because it may exceed 2^53",
        pattern="^[0-9]+$",
        examples=["4711"],
    ),
]


def moment(at: datetime) -> Moment:
    """Return an instant as the API shows it."""
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def moment_if(at: datetime | None) -> Moment | None:
    """Return an instant as the API shows it, or None as it is."""
    return None if at is None else moment(at)


def position(number: int) -> Position:
    """Return a position as the API shows it."""
    return str(number)
