"""Two tables of one shape, compared row by row in one snapshot.

What columns hold is never told: only how many rows differ, and keys and names of
columns of some.
"""

from typing import Any, Final, NamedTuple

import msgspec
from psycopg.sql import SQL, Composed, Identifier, Literal

from infrastructure.postgres.database import Connection
from infrastructure.postgres.heads.table import number
from projections.builds import Sample
from projections.read_models.all import AnyProjection
from projections.read_models.slots import other_slot, table_name

SAMPLES: Final = 5
"""Of each kind of difference."""

# Hashing a million rows of each side is quicker in memory.
_MEMORY: Final = "SET LOCAL work_mem = '128MB'"

_COUNT: Final = SQL("""
SELECT count(*) FILTER (WHERE s.{first} IS NOT NULL),
       count(*) FILTER (WHERE l.{first} IS NULL),
       count(*) FILTER (WHERE s.{first} IS NULL),
       count(*) FILTER (WHERE l.{first} IS NOT NULL
                          AND s.{first} IS NOT NULL
                          AND ({differs}))
  FROM {live} l
  FULL JOIN {spare} s USING ({key})
""")

_SAMPLE: Final = SQL("""
SELECT jsonb_build_object({named}), ARRAY(
           SELECT c.name
             FROM (VALUES {columns}) AS c(name, differs)
            WHERE c.differs)
  FROM {live} l
  FULL JOIN {spare} s USING ({key})
 WHERE {condition}
 ORDER BY {key}
 LIMIT {limit}
""")

_SET_ASIDE: Final = """
SELECT count(*) FILTER (WHERE slot = %(live)s),
       count(*) FILTER (WHERE slot = %(spare)s)
  FROM counterfoil.projection_set_aside
 WHERE projection = %(name)s
"""


class Compared(NamedTuple):
    """How the live table differs from the fold in the spare one."""

    rows: int
    missing: int
    extra: int
    differing: int
    samples: tuple[Sample, ...]
    set_aside: int
    set_aside_anew: int


def compare(connection: Connection, projection: AnyProjection, live: str) -> Compared:
    """Return how the rows differ in the snapshot of the caller's transaction."""
    connection.execute(_MEMORY)
    parts = _parts(projection, live)
    counts = connection.execute(_COUNT.format(**parts)).fetchall()[0]
    rows, missing, extra, differing = map(number, counts)
    samples = [
        *_samples(connection, parts, "missing", missing),
        *_samples(connection, parts, "extra", extra),
        *_samples(connection, parts, "differing", differing),
    ]
    asked = {"name": projection.name, "live": live, "spare": other_slot(live)}
    aside = connection.execute(_SET_ASIDE, asked).fetchall()[0]
    return Compared(
        rows, missing, extra, differing, tuple(samples), *map(number, aside)
    )


def _parts(projection: AnyProjection, live: str) -> dict[str, Any]:
    fields: tuple[str, ...] = projection.row.__struct_fields__
    others = [name for name in fields if name not in projection.key]
    pairs = [
        SQL("l.{0} IS DISTINCT FROM s.{0}").format(Identifier(name)) for name in others
    ]
    first = Identifier(projection.key[0])
    both = SQL("l.{0} IS NOT NULL AND s.{0} IS NOT NULL").format(first)
    return {
        "first": first,
        "live": Identifier("counterfoil", table_name(projection.name, live)),
        "spare": Identifier(
            "counterfoil", table_name(projection.name, other_slot(live))
        ),
        "key": SQL(", ").join(map(Identifier, projection.key)),
        "named": SQL(", ").join(
            SQL("{}, {}::text").format(Literal(name), Identifier(name))
            for name in projection.key
        ),
        "differs": SQL(" OR ").join(pairs) if pairs else SQL("false"),
        "columns": SQL(", ").join(
            SQL("({}, {} AND {})").format(Literal(name), both, pair)
            for name, pair in zip(others, pairs, strict=True)
        )
        if pairs
        else SQL("('', false)"),
        "limit": Literal(SAMPLES),
    }


_CONDITIONS: Final = {
    "missing": SQL("l.{first} IS NULL"),
    "extra": SQL("s.{first} IS NULL"),
    "differing": SQL("l.{first} IS NOT NULL AND s.{first} IS NOT NULL AND ({differs})"),
}


def _samples(
    connection: Connection, parts: dict[str, Any], what: str, found: int
) -> list[Sample]:
    if not found:
        return []
    condition: Composed = _CONDITIONS[what].format(
        first=parts["first"], differs=parts["differs"]
    )
    rows = connection.execute(_SAMPLE.format(**parts, condition=condition)).fetchall()
    return [
        msgspec.convert({"what": what, "key": key, "columns": columns}, Sample)
        for key, columns in rows
    ]
