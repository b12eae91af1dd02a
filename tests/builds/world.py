"""A log of jobs, its read model followed, and what can be made of it anew."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import psycopg

from application.operators.instruction import Instruction
from domain.event import Actor
from domain.stream import Ref
from infrastructure.postgres.batch_store import BatchStore
from infrastructure.postgres.database import Database
from infrastructure.projecting.builds.rebuild import Rebuild
from infrastructure.projecting.builds.verify import Verify
from projections.builds import Progress, Rebuilt, Tell, Verified
from projections.read_models.jobs import Jobs
from projections.read_models.slots import checkpoint_name
from tests.fixtures.database import TestDatabase
from tests.fixtures.read_models import assert_read_model_holds, live_slot, project
from tests.log.jobs import (
    CLAIM,
    DEATH,
    SNOOZE,
    SUCCESS,
    appending,
    births,
    job_refs,
    written,
)

JOBS = Jobs()
ANN = Instruction(actor=Actor(type="operator", id="ann"), reason="it looked wrong")


def silent(_: Progress) -> None:
    """Tell nobody."""


@dataclass
class World:
    """One database; every method goes the product's way unless it says otherwise."""

    database: TestDatabase
    pool: Database
    connection: psycopg.Connection[Any] = field(init=False)

    def __post_init__(self) -> None:
        self.connection = self.database.connect()

    def live(self, jobs: int = 4) -> list[Ref]:
        """Let jobs live, of each four one that waits, snoozes, succeeds and dies."""
        refs = job_refs(jobs)
        store = BatchStore(self.pool)
        written(store.commit([births(refs)]))
        taken = [ref for n, ref in enumerate(refs) if n % 4]
        if taken:
            written(store.commit([appending(taken, CLAIM)]))
        for n, event in ((1, SNOOZE), (2, SUCCESS), (3, DEATH)):
            if ended := [ref for at, ref in enumerate(refs) if at % 4 == n]:
                written(store.commit([appending(ended, event)]))
        return refs

    def follow(self) -> None:
        """Bring the live rows to the horizon."""
        project(self.pool, [JOBS])

    def rebuild(self, tell: Tell = silent, *, batch: int = 20_000) -> Rebuilt:
        rebuild = Rebuild(self.pool, batch, 0.2)
        return rebuild(JOBS, ANN, tell)

    def verify(self, tell: Tell = silent) -> Verified:
        return Verify(self.pool)(JOBS, tell)

    @property
    def slot(self) -> str:
        return live_slot(self.connection, JOBS)

    @property
    def spare(self) -> str:
        return "b" if self.slot == "a" else "a"

    def row(self, *columns: str) -> tuple[Any, ...]:
        """Return columns of the projection's row."""
        (found,) = self.connection.execute(
            f"SELECT {', '.join(columns)} FROM counterfoil.projections"  # noqa: S608 - names of ours
            " WHERE name = 'jobs'"
        ).fetchall()
        row: tuple[Any, ...] = found
        return row

    def set(self, assignments: str) -> None:
        """Change the projection's row behind the product's back."""
        self.connection.execute(
            f"UPDATE counterfoil.projections SET {assignments} WHERE name = 'jobs'"  # noqa: S608 - names of ours
        )

    def count(self, slot: str) -> int:
        ((found,),) = self.connection.execute(
            f"SELECT count(*) FROM counterfoil.read_jobs_{slot}"  # noqa: S608 - a name of ours
        ).fetchall()
        return int(found)

    def position(self, slot: str) -> int | None:
        """Return the checkpoint of a slot; None: it has none."""
        found = self.connection.execute(
            "SELECT position FROM counterfoil.checkpoints WHERE name = %s",
            (checkpoint_name("jobs", slot),),
        ).fetchone()
        return None if found is None else int(found[0])

    def spoil(self, what: str, job: UUID) -> None:
        """Change the live rows behind the product's back."""
        self.connection.execute(what.format(table=f"read_jobs_{self.slot}"), (job,))

    def promotions(self) -> list[tuple[Any, ...]]:
        return self.connection.execute(
            """
            SELECT data, meta->'actor'->>'id', meta->>'reason', position
              FROM counterfoil.events
             WHERE type = 'projection.promoted'
             ORDER BY position
            """
        ).fetchall()

    def require_right(self) -> None:
        """Fail unless what is read is what the log says, and nothing else is there."""
        assert_read_model_holds(self.connection, JOBS)
        assert self.row("build", "build_schema", "build_began_at") == (None,) * 3
        assert self.position(self.spare) is None
        leftover = self.connection.execute(
            "SELECT 1 FROM counterfoil.projection_set_aside WHERE slot = %s",
            (self.spare,),
        ).fetchall()
        assert leftover == []


class Stopped(Exception):  # noqa: N818 - what a test says to stop a build
    """A build is to stop here, as if its process had died."""


def stopping_behind(position: int) -> Tell:
    """Stop a build once it has folded up to there."""

    def tell(now: Progress) -> None:
        if now.done >= position:
            raise Stopped

    return tell


@contextmanager
def at(phase: str, deed: Any) -> Iterator[Tell]:  # noqa: ANN401 - what a test does then
    """Do something once, when a build is in that phase for the first time."""
    done: list[bool] = []

    def tell(now: Progress) -> None:
        if now.phase == phase and not done:
            done.append(True)
            deed()

    yield tell
    assert done, f"no build was ever {phase}"


def keys(samples: Sequence[Any], what: str) -> set[str]:
    return {each.key["stream_id"] for each in samples if each.what == what}
