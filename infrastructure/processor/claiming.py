"""The claim loop: reserve capacity, claim, hand over; poll quickly after work."""

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

import psycopg

from application.job_kinds import Kinds
from domain.jobs.events import Owner
from infrastructure.errors import DatabaseUnavailableError
from infrastructure.postgres.database import Connection, Database
from infrastructure.processor.claim import Claimer, Lane
from infrastructure.processor.claimed import ClaimedJob, ClaimInDoubtError, adopt
from infrastructure.processor.leases import Held, Leases
from infrastructure.processor.notices.heard import Notices
from infrastructure.processor.notices.sign import IdleSign
from infrastructure.processor.settler import Settler
from infrastructure.processor.slots import PREFETCH, Slots
from infrastructure.processor.suspects.lane import SuspectLane
from infrastructure.telemetry import emit
from infrastructure.telemetry.pulse import Pulse

_PAUSE_SECONDS: Final = 0.1
_LONGEST_PAUSE_SECONDS: Final = 5.0
"""Between claims that are refused again and again: a server may take no writes."""

MOST_UNSETTLED: Final = 2 * PREFETCH
"""Runs of one process that may be over and not yet settled: handlers that are faster
than the settler must not pile up work that a crash would repeat."""

HOLDS_SECONDS: Final = 1.0
"""So often at least also a busy process looks at what holds it back."""

POLL_SECONDS: Final = (0.005, 0.02, 0.05)
"""Pauses of an idle poller: in the first second after work, in the next, later."""


@dataclass(frozen=True, slots=True)
class _Route:
    lane: Lane
    is_direct: bool


@dataclass(frozen=True, slots=True)
class Parts:
    """What the claim loop shares with the other threads of its process."""

    leases: Leases
    slots: Slots
    settler: Settler
    most_alone: int = 1
    """Suspects that may run here at once."""


class ClaimLoop:
    """One thread that keeps the slots of one process filled."""

    def __init__(
        self, database: Database, owner: Owner, kinds: Kinds, parts: Parts
    ) -> None:
        """Claim jobs of `kinds` as `owner`, while leases are being confirmed."""
        slots = parts.slots
        self._settler = parts.settler
        self._database = database
        self._kinds = kinds
        self._leases = parts.leases
        self._slots = slots
        self._claimer = Claimer(
            owner, {name: kind.lease_seconds for name, kind in kinds.items()}
        )
        self._claimer.lingering = slots.lingering
        self._suspects = SuspectLane(self._claimer, slots, kinds, parts.most_alone)
        self._routes = _routes(kinds, slots.queues)
        self._more_due: set[Lane] = set()
        """Lanes whose last claim got all it asked for."""
        names = [route.lane.queue for route in self._routes]
        self._of_one_lane = {name for name in names if names.count(name) == 1}
        self._looked_at = 0.0
        self._again_in = _PAUSE_SECONDS
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._loop, name="claim", daemon=True)
        self._worked_at = time.monotonic()
        self.poll_seconds: tuple[float, float, float] = POLL_SECONDS
        self.notices = Notices(slots.poke)
        """Filled by whoever listens; without, the loop polls."""
        self.sign = IdleSign(owner.boot, self.notices)
        self.is_connected = False
        """Whether the database answered last; for readiness."""
        self.pulse = Pulse("claim")

    def start(self) -> None:
        """Begin claiming."""
        self._thread.start()

    def stop(self) -> None:
        """Return when no claim is being made and none will be."""
        self._stop.set()
        self._slots.poke()
        self._thread.join()
        self.pulse.end()

    def _loop(self) -> None:
        while not self._stop.is_set():
            self.pulse.beat()
            connection = self._database.connect_with_backoff(self._stop)
            if connection is None:
                return
            try:
                with connection:
                    self.is_connected = True
                    self._claim_until_stopped(connection)
            except ClaimInDoubtError as doubt:
                self._adopt(doubt)
            except DatabaseUnavailableError as error:
                self.is_connected = False
                emit("claim lost the database", error=str(error))
            except Exception as error:  # noqa: BLE001 - the job runner: a worker that claims no more would starve its queues
                # A lost race (deadlock, lock timeout), or a row that cannot be read.
                emit("claim failed", error=type(error).__name__)
                self._stop.wait(self._again_in)
                self._again_in = min(2 * self._again_in, _LONGEST_PAUSE_SECONDS)

    def _claim_until_stopped(self, connection: Connection) -> None:
        self.sign.begin()
        self._claimer.warm(connection)
        while not self._stop.is_set():
            self.pulse.beat()
            if not self._leases.are_kept.wait(_PAUSE_SECONDS):
                # Nobody confirms leases now, so none is taken.
                continue
            notified = self.notices.take()
            claimed = self._round(connection, notified)
            self._again_in = _PAUSE_SECONDS
            if claimed:
                self._worked_at = time.monotonic()
                self.sign.end(connection)
                continue
            if notified:
                # Another process was faster: still, these are no idle times.
                self.sign.end(connection)
            if not self.sign.keep(connection, self._free()):
                self._slots.wait_free(min(self._pause(), self.sign.due_in()))
        self.sign.end(connection)

    def _free(self) -> list[str]:
        """Return the queues of which a job that came now would be claimed at once."""
        bars = self._claimer.holds.bars
        return [it for it in self._slots.free() if not bars(it)]

    def _round(self, connection: Connection, notified: set[str]) -> int:
        """Return how many jobs were claimed for the queues that have any due.

        A lane whose last claim got all it asked for is not looked at before the next.
        """
        rooms = {it: self._room(it) for it in self._routes if not it.is_direct}
        routes = [it for it in self._routes if it.is_direct or rooms[it]]
        due, is_known = self._due(connection, routes, notified)
        why = self._claimer.holds.why_stopped
        for held in self._slots.surplus([it for it in self._slots.queues if why(it)]):
            self._settler.give_back(held, why(held.job.queue) or "waited_for_a_thread")
        take = partial(self._hand_over, since=self._leases.now(), alone=True)
        claimed = self._suspects.claim(connection, take)
        for route in routes:
            if route.lane in self._more_due or route.lane.queue in due:
                claimed += (
                    self._claim(connection, route)
                    if route.is_direct
                    else self._scan(connection, route.lane, rooms[route])
                )
            elif route.is_direct and is_known:
                self._unreserve(route.lane.queue)
        return claimed

    def _unreserve(self, queue: str) -> None:
        if queue not in self._suspects.in_vain:
            self._slots.unreserve(queue)

    def _due(
        self, connection: Connection, routes: list[_Route], notified: set[str]
    ) -> tuple[set[str], bool]:
        """Return queues in which something is due, and whether nothing is in others.

        A worker that is busy looks at its other queues as often as an idle one.  One
        that was notified looks only where the notice leaves open whose kind it is.
        """
        now = time.monotonic()
        clear = notified & self._of_one_lane
        if clear and now - self._looked_at < POLL_SECONDS[2]:
            return clear, False
        unsure = [it.lane for it in routes if it.lane not in self._more_due]
        if now - self._looked_at >= HOLDS_SECONDS:
            unsure = [it.lane for it in self._routes]
        is_busy = bool(self._more_due)
        if not unsure or (is_busy and now - self._looked_at < POLL_SECONDS[1]):
            return set(), False
        self._looked_at = now
        return self._claimer.look(connection, unsure, now), True

    def _room(self, route: _Route) -> int:
        """Return how many jobs the buffer takes; none while too many are unsettled."""
        if self._settler.backlog() >= MOST_UNSETTLED:
            return 0
        return self._slots.room(route.lane.queue)

    def _claim(self, connection: Connection, route: _Route) -> int:
        """Return how many jobs were claimed into slots that are free."""
        queue = route.lane.queue
        n = self._slots.reserve(queue)
        if n == 0:
            # Tried again as soon as a slot is free, without another look.
            self._more_due.add(route.lane)
            return 0
        try:
            return self._scan(connection, route.lane, n)
        finally:
            is_hungry = route.lane in self._more_due
            self._slots.unreserve(queue, is_hungry=is_hungry)

    def _scan(self, connection: Connection, lane: Lane, n: int) -> int:
        """Return how many jobs were claimed; each scan's are handed over at once."""
        claimed = 0
        while claimed < n and not self._stop.is_set():
            since = self._leases.now()
            left = n - claimed
            scan = self._claimer.scan(connection, lane, left, time.monotonic())
            self._hand_over(scan.jobs, since)
            claimed += len(scan.jobs)
            if scan.is_full:
                break
        self._tell_more(lane, is_more_due=claimed == n)
        return claimed

    def _tell_more(self, lane: Lane, *, is_more_due: bool) -> None:
        if is_more_due:
            self._more_due.add(lane)
        else:
            self._more_due.discard(lane)

    def _hand_over(
        self, jobs: list[ClaimedJob], since: float, *, alone: bool = False
    ) -> list[Held]:
        """Return the claims that were handed to the threads."""
        pairs = [(job, self._kinds[job.kind]) for job in jobs]
        held = self._leases.take(pairs, since, alone=alone)
        at_work = {it.job.id: it for it in self._slots.at_work()} if held else {}
        for each in held:
            if each.job.id in at_work:
                # The new claim proves that the old one was lost; its handler still
                # runs, and there must not be two of one job in one process.
                at_work[each.job.id].is_lost = True
                self._settler.give_back(each, "still_running_here", _PAUSE_SECONDS)
        free = [each for each in held if each.job.id not in at_work]
        self._slots.put(free)
        return free

    def _adopt(self, doubt: ClaimInDoubtError) -> None:
        """Adopt what a claim whose answer was lost had committed (mechanisms 10)."""
        while not self._stop.is_set():
            self.pulse.beat()
            connection = self._database.connect_with_backoff(self._stop)
            if connection is None:
                return
            try:
                with connection:
                    jobs = adopt(connection, doubt)
            except (DatabaseUnavailableError, psycopg.Error) as error:
                emit("claim still in doubt", error=type(error).__name__)
                self._stop.wait(_PAUSE_SECONDS)
                continue
            emit("claim adopted", jobs=len(jobs), of=len(doubt.jobs))
            # Counted from before the lost claim: never longer than it really is.
            since = self._leases.now() - (time.monotonic() - doubt.at)
            self._hand_over(jobs, since, alone=doubt.are_suspects)
            return

    def _pause(self) -> float:
        idle = time.monotonic() - self._worked_at
        first, second, later = self.poll_seconds
        return first if idle < 1 else second if idle < 2 else later  # noqa: PLR2004 - seconds, see POLL_SECONDS


def _routes(kinds: Kinds, queues: Sequence[str]) -> list[_Route]:
    """Return what is claimed by turns: per queue, kinds that ask a provider first."""
    routes: list[_Route] = []
    for is_direct in (True, False):
        names = sorted(
            kind.name for kind in kinds.values() if kind.asks_provider is is_direct
        )
        if names:
            lanes = [Lane(queue, tuple(names)) for queue in queues]
            routes += [_Route(lane, is_direct) for lane in lanes]
    return routes
