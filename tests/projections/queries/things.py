"""A read model of the tests' own: many rows share an instant, and some lack a value."""

from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any, Final
from uuid import UUID

import msgspec
import psycopg
from psycopg import sql
from psycopg.rows import class_row

from domain.event import Instant
from projections.queries.listing import Listing
from projections.queries.terms import Field

BEGAN: Final = datetime(2026, 11, 30, 12, tzinfo=UTC)
COLOURS: Final = ("red", "green", "blue", "grey")
SIZES: Final = (1, 2, 3)
MARKS: Final = ("a~b", "Ünï", None)

_CREATE = """
CREATE TABLE counterfoil.read_things_{slot} (
    stream_id  uuid        NOT NULL PRIMARY KEY,
    created_at timestamptz NOT NULL,
    colour     text        NOT NULL,
    size       integer     NOT NULL,
    mark       text,
    due_at     timestamptz
);
CREATE INDEX ON counterfoil.read_things_{slot} (created_at, stream_id);
CREATE INDEX ON counterfoil.read_things_{slot} (colour, created_at, stream_id);
CREATE INDEX ON counterfoil.read_things_{slot} (size, created_at, stream_id);
CREATE INDEX ON counterfoil.read_things_{slot} (mark, created_at, stream_id)
 WHERE mark IS NOT NULL;
CREATE INDEX ON counterfoil.read_things_{slot} (colour, size, created_at, stream_id);
CREATE INDEX ON counterfoil.read_things_{slot} (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX ON counterfoil.read_things_{slot} (created_at, stream_id)
 WHERE colour = 'red';
CREATE INDEX ON counterfoil.read_things_{slot} (size, created_at, stream_id)
 WHERE colour = 'red';
"""
_KNOW = "INSERT INTO counterfoil.projections (name, schema) VALUES ('things', 1)"
_ADD = """
INSERT INTO counterfoil.read_things_{slot}
       (stream_id, created_at, colour, size, mark, due_at)
VALUES (%s, %s, %s, %s, %s, %s)
"""


class Thing(msgspec.Struct, frozen=True, kw_only=True):
    """One row."""

    stream_id: UUID
    created_at: Instant
    colour: str
    size: int
    mark: str | None
    due_at: Instant | None


FIELDS: Final = {
    "id": Field("stream_id", "uuid", is_unique=True),
    "colour": Field("colour", "text"),
    "size": Field("size", "integer"),
    "mark": Field("mark", "text"),
    "due": Field("due_at", "timestamptz", is_range=True),
    "created": Field("created_at", "timestamptz"),
    "age": Field("created_at", "timestamptz"),
}
THINGS: Final = Listing(
    name="things", row=Thing, fields=FIELDS, pairs=(("colour", "size"),)
)

RED_ONES: Final = Listing(
    name="things",
    row=Thing,
    fields={name: FIELDS[name] for name in ("id", "size", "due", "created")},
    where=sql.SQL("colour = 'red'"),
)


def know(connection: psycopg.Connection[Any]) -> None:
    """Make the tables, and let the database know the projection."""
    for slot in ("a", "b"):
        connection.execute(_CREATE.format(slot=slot).encode())
    connection.execute(_KNOW)


def thing(n: int, *, at: datetime = BEGAN) -> Thing:
    """Return a thing by its number."""
    return Thing(
        stream_id=UUID(int=n),
        created_at=at,
        colour=COLOURS[n % 4],
        size=SIZES[n % 3],
        mark=MARKS[n % 3],
        due_at=None,
    )


def population(n: int, seed: int = 0) -> list[Thing]:
    """Return things of few instants and few values: one colour is rare."""
    dice = Random(seed)  # noqa: S311 - a population, not a secret
    return [
        Thing(
            stream_id=UUID(int=dice.getrandbits(128)),
            created_at=BEGAN + timedelta(microseconds=dice.randrange(5)),
            colour=dice.choices(COLOURS, (40, 40, 20, 1))[0],
            size=dice.choice(SIZES),
            mark=dice.choice(MARKS),
            due_at=(
                BEGAN + timedelta(seconds=dice.randrange(20))
                if dice.random() < 0.7
                else None
            ),
        )
        for _ in range(n)
    ]


def add(
    connection: psycopg.Connection[Any], things: list[Thing], slot: str = "a"
) -> None:
    """Write rows as a projection would."""
    with connection.cursor() as cursor:
        cursor.executemany(
            _ADD.format(slot=slot).encode(),
            [msgspec.structs.astuple(it) for it in things],
        )


def stored(connection: psycopg.Connection[Any]) -> list[Thing]:
    """Return all rows of the first table, the newest first."""
    with connection.cursor(row_factory=class_row(Thing)) as cursor:
        return cursor.execute(
            "SELECT * FROM counterfoil.read_things_a"
            " ORDER BY created_at DESC, stream_id DESC"
        ).fetchall()
