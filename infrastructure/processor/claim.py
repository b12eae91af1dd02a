"""Claim due jobs: one bounded index scan per priority, merged with a head start.

The statement takes the same decision as `domain.jobs.aggregate.decide` for a whole
batch; a property test holds it to that.  `low` bounds each scan by the earliest row
that a full look has found, so that rows which are gone but not yet vacuumed are not
walked over again and again (mechanisms 16, 17, 21).
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, LiteralString, NamedTuple
from uuid import UUID

import msgspec
import psycopg

from domain.jobs.aggregate import LARGEST_ATTEMPT
from domain.jobs.events import Owner
from infrastructure.ids import new_id
from infrastructure.postgres.database import Connection
from infrastructure.postgres.heads.table import number, uuid
from infrastructure.processor.barred import Barred
from infrastructure.processor.claimed import ClaimedJob
from infrastructure.processor.figures.claims import measured_claim
from infrastructure.processor.holds.holds import Holds
from infrastructure.processor.identity import actor_of
from infrastructure.processor.low_water import (
    EPOCH,
    HEAD_STARTS,
    LowWater,
    Onlooker,
    look,
)
from infrastructure.processor.turns.lines import Lines
from infrastructure.processor.turns.statements import (
    CLAIM,
    CLAIM_IN_TURN,
    CLAIM_SUSPECT,
    FRONT,
    FRONT_IN_TURN,
    FRONT_SUSPECT,
)
from infrastructure.telemetry import emit


class _Statements(NamedTuple):
    claim: LiteralString
    front: LiteralString
    """Names the row that a claim of one job would take."""
    are_suspects: bool


_TRUSTED: Final = _Statements(CLAIM, FRONT, are_suspects=False)
_IN_TURN: Final = _Statements(CLAIM_IN_TURN, FRONT_IN_TURN, are_suspects=False)
_SUSPECTS: Final = _Statements(CLAIM_SUSPECT, FRONT_SUSPECT, are_suspects=True)


@dataclass(frozen=True, slots=True)
class Scan:
    """What one claim found."""

    jobs: list[ClaimedJob]
    is_full: bool
    """Whether every due row was looked at, or none that was not may be yet."""


@dataclass(frozen=True, slots=True)
class Lane:
    """What one claim asks for: some kinds of one queue."""

    queue: str
    kinds: tuple[str, ...]


class Claimer:
    """Claims for one process over one connection at a time."""

    def __init__(self, owner: Owner, leases: dict[str, int]) -> None:
        """Claim as `owner`; `leases` gives every kind's lease in seconds."""
        self._constant: dict[str, object] = {
            "head_starts": list(HEAD_STARTS),
            "most": LARGEST_ATTEMPT,
            "host": owner.host,
            "pid": owner.pid,
            "boot": owner.boot,
            "owner": msgspec.json.encode(owner).decode(),
            "leases": msgspec.json.encode(leases).decode(),
        }
        self._actor = actor_of(owner)
        self._water: dict[Lane, LowWater] = {}
        self._barred = Barred()
        self.holds = Holds()
        """What held this process back when it last looked."""
        self._onlooker = Onlooker(owner.boot, self.holds)
        self.lingering: Callable[[], list[UUID]] = list
        """Returns jobs that are not to be claimed, because a handler of theirs still
        runs in this process."""

    def scan(self, connection: Connection, lane: Lane, n: int, at: float) -> Scan:
        """Return up to `n` jobs, claimed and committed; `at` is monotonic seconds.

        When a bounded scan finds less than `n`, the next one looks at everything.

        Raises:
            ClaimInDoubtError: the answer of COMMIT was lost; `adopt` over a new
                connection tells what was claimed.
            DatabaseUnavailableError: nothing was claimed.
        """
        water = self._low_water(lane)
        if water.is_full_due(at) and not self.look(connection, [lane], at):
            return Scan([], is_full=True)
        n = self.holds.most(lane.queue, n)
        if n == 0:
            return Scan([], is_full=True)
        is_full, water.is_fresh = water.is_fresh, False
        asked = self._constant | {
            "queue": lane.queue,
            "kinds": list(lane.kinds),
            "n": n,
            "lows": water.lows,
            "barred": self._left_out(at),
        }
        if water.lines.known:
            asked |= _by_turns(water.lines, n)
            jobs = self._claimable(connection, asked, at, _IN_TURN)
            water.lines.served(job.tenant_id for job in jobs)
            water.lines.are_due = water.lines.are_due and len(jobs) == n
        else:
            jobs = self._claimable(connection, asked, at, _TRUSTED)
        water.is_short = len(jobs) < n and not is_full
        return Scan(jobs, is_full or (water.is_short and not water.is_full_due(at)))

    def suspect(
        self, connection: Connection, lane: Lane, at: float
    ) -> list[ClaimedJob]:
        """Return the next suspect of `lane` if any is due, claimed and committed.

        Raises:
            ClaimInDoubtError: see `scan`.
            DatabaseUnavailableError: nothing was claimed.
        """
        asked = self._constant | {
            "queue": lane.queue,
            "kinds": list(lane.kinds),
            "n": 1,
            "lows": [EPOCH] * len(HEAD_STARTS),
            "barred": self._left_out(at),
        }
        return self._claimable(connection, asked, at, _SUSPECTS)

    def _left_out(self, at: float) -> list[UUID]:
        return self._barred.jobs(at) + self.lingering()

    def warm(self, connection: Connection) -> None:
        """Have the claim planned over a new connection before anybody waits for it.

        Raises:
            DatabaseUnavailableError: the connection was lost.
        """
        asked = self._constant | {
            "queue": "",
            "kinds": [""],  # a list without members has another type
            "n": 0,
            "lows": [EPOCH] * len(HEAD_STARTS),
            "barred": [],
        }
        self._claimable(connection, asked, time.monotonic(), _TRUSTED)

    def look(
        self, connection: Connection, lanes: Sequence[Lane], at: float
    ) -> set[str]:
        """Return the queues of `lanes` in which something is due, within the bounds.

        None that is paused or full: what is due there waits.

        Raises:
            DatabaseUnavailableError: the connection was lost.
        """
        waters = [self._low_water(lane) for lane in lanes]
        kinds = (kind for lane in lanes for kind in lane.kinds)
        due = look(connection, waters, kinds, at, self._onlooker)
        return {
            lane.queue
            for lane, any_due in zip(lanes, due, strict=True)
            if any_due and not self.holds.bars(lane.queue)
        }

    def _low_water(self, lane: Lane) -> LowWater:
        return self._water.setdefault(lane, LowWater(lane.queue))

    def _claimable(
        self,
        connection: Connection,
        asked: dict[str, object],
        at: float,
        statements: _Statements,
    ) -> list[ClaimedJob]:
        """Return what is claimed; less than asked for when a row refuses to be.

        What is before that row is claimed first; once it is at the front, it is barred.
        """
        try:
            claim_id = new_id()
            meta = {"actor": self._actor, "commit_id": claim_id}
            told = msgspec.json.encode(meta).decode()
            mine = asked | {"claim_id": claim_id, "meta": told}
            return measured_claim(
                connection, statements.claim, mine, suspects=statements.are_suspects
            )
        except (psycopg.DataError, psycopg.IntegrityError) as error:
            n = number(asked["n"])
            if n > 1:
                fewer = asked | {"n": n // 2}
                return self._claimable(connection, fewer, at, statements)
            for (job,) in connection.execute(statements.front, asked).fetchall():
                emit("job barred", job=str(job), error=type(error).__name__)
                self._barred.add(uuid(job), at)
            return []


def _by_turns(lines: Lines, n: int) -> dict[str, object]:
    """Return what a claim of `n` jobs asks of the lines whose turn it is.

    Of each it may take twice its share, for others may have fewer.
    """
    asked = lines.in_turn()
    priorities = range(1, len(HEAD_STARTS) + 1)
    return {
        "places": [line.tenant for line in asked],
        "line_tenants": [line.tenant for line in asked for _ in priorities],
        "line_priorities": [priority for _ in asked for priority in priorities],
        "line_lows": [low for line in asked for low in line.lows],
        "per_line": min(n, -(-2 * n // len(asked))),
        "open_first": int(lines.is_open_first),
    }
