"""Where one queue is measured: clones of its installed and of its filled database."""

from collections.abc import Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass, field
from typing import Any, Final, LiteralString

import msgspec

from bench.child import BenchError
from bench.ground import Ground
from bench.peers.processes import call
from bench.peers.system import System
from infrastructure.postgres.database import Connection, connect
from infrastructure.postgres.heads.table import number

_CREATE_SHOP: Final = """
CREATE SCHEMA shop;
CREATE TABLE shop.payments (
    id           uuid        NOT NULL,
    customer_id  text        NOT NULL,
    amount_minor bigint      NOT NULL,
    paid_at      timestamptz NOT NULL DEFAULT current_timestamp,
    CONSTRAINT payments_pkey PRIMARY KEY (id)
);
"""
BATCH: Final = 1_000
"""Jobs enqueued at once, in bulk."""


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """A queue that could not be measured; it is told, never just left out."""

    system: str
    measure: str
    turn: int
    """0 is the first round; -1 was before it."""
    reason: str


@dataclass(frozen=True, slots=True)
class Field:
    """The prepared databases of one queue."""

    place: Ground
    system: System
    template: str
    jobs: int
    """Wait in the filled one."""

    def empty(self) -> AbstractContextManager[str]:
        """Give the address of an installed database without jobs."""
        return self.place.database(self.template)

    def waiting(self) -> AbstractContextManager[str]:
        """Give the address of a database in which `jobs` wait."""
        return self.place.database(self.template + "_waiting")

    def call(self, conninfo: str, *words: str) -> dict[str, Any]:
        """Run one of the contract's words to its end; return what it printed."""
        return call(self.system, conninfo, self.place.folder, *words)

    def enqueue(self, conninfo: str, *words: str) -> dict[str, Any]:
        """Run one of the words that enqueue, and count the jobs in its own table.

        Raises:
            BenchError: they are not as many as it says.
        """
        told = self.call(conninfo, *words)
        with closing(connect(conninfo)) as connection:
            found = count(connection, self.system.made, told["jobs"])
        if found != told["jobs"]:
            msg = f"{self.system.name} holds {found} of {told['jobs']} jobs"
            raise BenchError(msg)
        return told


def count(connection: Connection, counted_by: LiteralString, jobs: int) -> int:
    """Return what one of a system's queries counts."""
    return number(connection.execute(counted_by, {"jobs": jobs}).fetchall()[0][0])


@dataclass(slots=True)
class Fields:
    """The prepared databases of all queues, and who failed."""

    ready: list[Field] = field(default_factory=list[Field])
    failures: list[Failure] = field(default_factory=list[Failure])

    def prepare(self, place: Ground, systems: Sequence[System], jobs: int) -> None:
        """Install each of `systems`, with its share of `jobs` in a second database."""
        for system in systems:
            try:
                self.ready.append(_prepared(place, system, jobs))
            except BenchError as error:
                self.failed(system, "setup", -1, error)

    def failed(self, system: System, measure: str, turn: int, error: Exception) -> None:
        """Keep that `system` could not be measured."""
        self.failures.append(
            Failure(system=system.name, measure=measure, turn=turn, reason=str(error))
        )


def _prepared(place: Ground, system: System, jobs: int) -> Field:
    if not system.is_installed:
        msg = f"not installed: there is no {system.needs.name}"
        raise BenchError(msg)
    waiting = max(int(jobs * system.share), 1)
    it = Field(place, system, _name(system), waiting)
    conninfo = place.template(it.template)
    with closing(connect(conninfo)) as connection:
        connection.execute(_CREATE_SHOP)
    it.call(conninfo, "setup")
    _vacuum(conninfo)
    conninfo = place.template(it.template + "_waiting", of=it.template)
    it.enqueue(conninfo, "bulk", str(waiting), str(BATCH))
    _vacuum(conninfo)
    return it


def _name(system: System) -> str:
    return "peer_" + "".join(each if each.isalnum() else "_" for each in system.name)


def _vacuum(conninfo: str) -> None:
    with closing(connect(conninfo)) as connection:
        connection.execute("VACUUM ANALYZE")
