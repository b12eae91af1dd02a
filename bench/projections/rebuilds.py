"""Each read model rebuilt from the whole log, and followed by the library's runner.

Ours is the rebuild itself, from its claim to its promotion: everything that the
command does once it has started.  The library's runner follows the first part of the
same log, for its pace does not depend on how much comes behind.  The two take turns,
projection by projection; events are those of the log, whether the projection reads
them or not.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Final

from psycopg.sql import SQL, Identifier

from application.operators.instruction import Instruction
from bench.child import BenchError
from bench.ground import Ground
from bench.lines import Line, Round, Series, ratio, rotated, value
from bench.projections import stock
from domain.event import Actor
from infrastructure.postgres.database import Connection, Database, connect
from infrastructure.postgres.heads.table import number, text
from infrastructure.projecting.builds.rebuild import Rebuild
from projections.read_models.all import AnyProjection
from projections.read_models.slots import table_name

NAME: Final = "rebuild"
_LAST: Final = """
SELECT position FROM counterfoil.events ORDER BY position LIMIT 1 OFFSET %(n)s - 1
"""
_UP_TO: Final = "SELECT count(*) FROM counterfoil.events WHERE position <= %(position)s"
_LIVE: Final = "SELECT live FROM counterfoil.projections WHERE name = %(name)s"
_COUNT: Final = SQL("SELECT count(*) FROM counterfoil.{table}")

_BENCH: Final = Instruction(
    actor=Actor(type="operator", id="bench"), reason="to be measured"
)


@dataclass(frozen=True, slots=True)
class Rebuilds:
    """The measure, over one database with a log that was made before."""

    place: Ground
    conninfo: str
    followed: int
    """Events at the beginning of the log that the library's runner takes."""
    projections: Sequence[AnyProjection]
    name: str = NAME

    @property
    def lines(self) -> Sequence[Line]:
        """Events per second of both, and the ratio within each round."""
        group = "rebuild of a read model, events of the log per second"
        return [
            *(line for each in self.projections for line in _lines(group, each.name)),
            Line(group, "the slowest of ours", "events/s", _slowest(self.projections),
                 "≥ 50,000"),
        ]  # fmt: skip

    def round(self, turn: int) -> Mapping[str, float]:
        """Rebuild and follow each projection, another one first in each turn."""
        taken: dict[str, float] = {}
        for projection in rotated(self.projections, turn):
            ways: list[tuple[str, Callable[[AnyProjection], float]]] = [
                (_ours(projection.name), self._rebuild),
                (_stock(projection.name), self._follow),
            ]
            if turn % 2:
                ways.reverse()
            for variant, way in ways:
                self.place.checkpoint()
                taken[variant] = way(projection)
        return taken

    def series(self) -> Series:
        """Nothing is drawn."""
        return {}

    def _rebuild(self, projection: AnyProjection) -> float:
        with Database(self.conninfo, pool_size=2) as database:
            rebuild = Rebuild(database)
            rebuilt = rebuild(projection, _BENCH, lambda _: None)
        with closing(connect(self.conninfo)) as connection:
            asked = {"position": rebuilt.position}
            events = number(connection.execute(_UP_TO, asked).fetchall()[0][0])
        if rebuilt.set_aside or rebuilt.from_position:
            msg = f"{projection.name} was not made from all events: {rebuilt}"
            raise BenchError(msg)
        return events / rebuilt.seconds

    def _follow(self, projection: AnyProjection) -> float:
        seconds = stock.follow(self.conninfo, projection, self.followed)
        self._require_rows(projection)
        return self.followed / seconds

    def _require_rows(self, projection: AnyProjection) -> None:
        """Refuse a view that has no rows where ours has some."""
        with closing(connect(self.conninfo)) as connection:
            ours = _rows(connection, projection)
        if ours and not stock.rows(self.conninfo, projection):
            msg = f"the library's runner has made no rows of {projection.name}"
            raise BenchError(msg)


def _rows(connection: Connection, projection: AnyProjection) -> int:
    asked = {"name": projection.name}
    live = text(connection.execute(_LIVE, asked).fetchall()[0][0])
    table = Identifier(table_name(projection.name, live))
    return number(connection.execute(_COUNT.format(table=table)).fetchall()[0][0])


def _ours(name: str) -> str:
    return f"{name}, ours"


def _stock(name: str) -> str:
    return f"{name}, library"


def _lines(group: str, name: str) -> list[Line]:
    ours, library = _ours(name), _stock(name)
    return [
        Line(group, f"{name}: `projections rebuild`", "events/s", value(NAME, ours),
             "≥ 50,000"),
        Line(group, f"{name}: the library's runner", "events/s", value(NAME, library)),
        Line(group, f"{name}: rebuild / runner", "×", ratio(NAME, ours, library),
             "≥ 20"),
    ]  # fmt: skip


def _slowest(measured: Sequence[AnyProjection]) -> Callable[[Round], float]:
    return lambda it: min(it[NAME][_ours(each.name)] for each in measured)
