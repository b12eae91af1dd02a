"""The batch store: many groups, one transaction, each group whole or not at all.

Groups that look at one stream, or ask under one key, take turns, a transaction each.
A request's key is taken before the first head, and kept after the write.

lock all heads in the global order ─► let every group decide ─► write ─► COMMIT
       ▲                                                          │        │
       ├──── deadlock, serialization failure (≤ 5 times) ◄────────┤        │
       ├──── data error: halve until the guilty group is alone ◄──┘        │
       └──── answer lost: new connection, lock the heads (that waits for ◄─┘
             the old backend), look for the commit id, repeat only if absent
"""

import random
import time
from collections.abc import Container, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol
from uuid import UUID

import psycopg

from application.unit import LINGERING, Group, Locked, Refused, Result, Written
from domain.stream import StreamKind
from infrastructure.errors import DatabaseUnavailableError
from infrastructure.ids import new_id
from infrastructure.once.keys import Taken, keep, take
from infrastructure.postgres.appending import (
    Decided,
    HeadMissedError,
    UnencodableError,
    brings_to_life,
    write,
)
from infrastructure.postgres.database import Connection, transaction
from infrastructure.postgres.figures.written import tell_verdict, tell_written
from infrastructure.postgres.groups.verdicts import RACES, is_machine, verdict_on
from infrastructure.postgres.groups.with_rows import GroupWithRows, Rows
from infrastructure.postgres.heads.table import number, text, uuid
from infrastructure.postgres.locking import lock
from infrastructure.telemetry import measure
from infrastructure.telemetry.measures import UnitRepeated

if TYPE_CHECKING:
    from domain.event import Instant
    from domain.stream import Change, Ref

_LONGEST_PAUSE_SECONDS: Final = 1.0

REPEATS: Final = 5
"""How often a unit that lost a race is repeated (mechanisms 7)."""

_COMMITTED: Final = """
SELECT stream_id, max(position)
  FROM counterfoil.events
 WHERE stream_id = ANY(%(ids)s)
   AND meta->>'commit_id' = %(commit_id)s
 GROUP BY stream_id
"""

_ROOM: Final = "SELECT counterfoil.room_for(%(tenant)s, 1, 1)"

_LINGERS: Final = "SELECT counterfoil.is_lingering(%(jobs)s)"


class Connections(Protocol):
    """Lends connections for one transaction each."""

    def connection(self) -> AbstractContextManager[Connection]:
        """Lend an autocommit connection."""
        ...


class BatchStore:
    """Commits groups over the connections of one database; see `UnitOfWork`."""

    def __init__(
        self, connections: Connections, *, patience_seconds: float = 10.0
    ) -> None:
        """Take the connections to borrow, and how long to wait for a lost database."""
        self._connections = connections
        self._patience_seconds = patience_seconds

    def commit(self, groups: Sequence[Group]) -> list[Result]:
        """See `UnitOfWork.commit`."""
        results: dict[int, Result] = {}
        while len(results) < len(groups):
            turn = _apart(groups, results)
            told = self._written([groups[n] for n in turn])
            results.update(zip(turn, told, strict=True))
        return [results[n] for n in range(len(groups))]

    def _written(self, groups: Sequence[Group]) -> list[Result]:
        try:
            return self._repeated(groups)
        except (UnencodableError, HeadMissedError) as error:
            return self._halved(groups, error)
        except psycopg.Error as error:
            if is_machine(error):
                raise DatabaseUnavailableError(" ".join(str(error).split())) from error
            return self._halved(groups, error)

    def _halved(self, groups: Sequence[Group], error: Exception) -> list[Result]:
        if len(groups) > 1:
            middle = len(groups) // 2
            return self._written(groups[:middle]) + self._written(groups[middle:])
        return [tell_verdict(groups[0], verdict_on(error))]

    def _repeated(self, groups: Sequence[Group]) -> list[Result]:
        unit = _Unit(groups)
        give_up_at = time.monotonic() + self._patience_seconds
        races = 0
        pause = 0.01
        while True:
            try:
                with self._connections.connection() as connection:
                    return unit.run(connection)
            except DatabaseUnavailableError:
                unit.is_in_doubt |= unit.has_sent
                if time.monotonic() >= give_up_at:
                    raise
                pause = min(pause * 2, _LONGEST_PAUSE_SECONDS)
            except psycopg.Error as error:
                races += 1
                # A birth that the lost answer had committed after all shows up as a
                # unique violation of the repetition; the next turn finds its id.
                settled_late = unit.is_in_doubt and error.sqlstate == "23505"
                if races > REPEATS or not (error.sqlstate in RACES or settled_late):
                    raise
                measure(UnitRepeated("batch", error.sqlstate or ""))
            time.sleep(random.uniform(0.0, pause))  # noqa: S311 - spreads a race


def _apart(groups: Sequence[Group], done: Container[int]) -> list[int]:
    """Return the next groups, by number, of which no two look at one stream.

    Within a turn nobody sees what his neighbour decides: a guard would hold although
    its stream is changed in the very same transaction.  Nor does he see its key.
    """
    turn: list[int] = []
    taken: set[Ref | tuple[str, ...]] = set()
    for n, group in enumerate(groups):
        if n not in done and taken.isdisjoint(_needs(group)):
            turn.append(n)
            taken.update(_needs(group))
    return turn


def _needs(group: Group) -> Sequence["Ref | tuple[str, ...]"]:
    if group.once is None:
        return group.refs
    once = group.once
    return (*group.refs, (once.tenant_id, once.principal, once.key))


type Keys = dict[int, Taken | Refused]


def _answer(
    group: Group, key: Taken | Refused | None, heads: Locked, now: "Instant"
) -> "tuple[Change, ...] | Refused":
    return key if isinstance(key, Refused) else group.decide(heads, now)


class _Unit:
    """One batch on its way to be committed, over however many connections."""

    def __init__(self, groups: Sequence[Group]) -> None:
        self._groups = groups
        self._commit_id: UUID = new_id()
        self._last: list[tuple[Change, ...] | Refused] = []
        self.has_sent = False
        """Whether this turn has sent something that could be committed."""
        self.is_in_doubt = False
        """Whether an answer was lost after something had been sent."""

    def run(self, connection: Connection) -> list[Result]:
        """Return the results of one turn, committed."""
        self.has_sent = False
        with transaction(connection, keyed=True):
            keys = self._take_keys(connection)
            now, heads = lock(connection, self._refs(keys))
            if self.is_in_doubt:
                # The locks above waited for the backend whose answer was lost.
                found = self._committed(connection)
                if found:
                    return self._results(found)
            self._last = [
                _answer(group, keys.get(n), heads, now)
                for n, group in enumerate(self._groups)
            ]
            self._keep_room(connection)
            decided: list[Decided] = [
                (group, answer)
                for group, answer in zip(self._groups, self._last, strict=True)
                if not isinstance(answer, Refused) and answer
            ]
            self.has_sent = bool(decided or keys)
            for each in self._with_rows():
                each.rows.before(connection)
            positions = write(connection, decided, self._commit_id) if decided else {}
            for each in self._with_rows():
                each.rows.after(connection, each.changes, each.position(positions))
            self._keep_keys(connection, keys)
        return self._results(positions)

    def _take_keys(self, connection: Connection) -> "Keys":
        """Return the keys of groups, by their number, or why one is not had."""
        return {
            n: take(connection, group.once, waits=self.is_in_doubt)
            for n, group in enumerate(self._groups)
            if group.once is not None
        }

    def _refs(self, keys: "Keys") -> set["Ref"]:
        """Return what to lock: nobody waits for the heads of a request of before."""
        return {
            ref
            for n, group in enumerate(self._groups)
            if self.is_in_doubt or not isinstance(keys.get(n), Refused)
            for ref in group.refs
        }

    def _keep_keys(self, connection: Connection, keys: "Keys") -> None:
        """Write down the answers of all groups that are not refused."""
        for n, taken in keys.items():
            answer = self._last[n]
            if isinstance(taken, Taken) and not isinstance(answer, Refused):
                keep(connection, taken, taken.once.answer(answer))

    def _with_rows(self) -> Iterator["_Beside"]:
        """Yield the rows of groups that are not refused."""
        for group, answer in zip(self._groups, self._last, strict=True):
            rows = group.rows if isinstance(group, GroupWithRows) else None
            if rows is not None and not isinstance(answer, Refused):
                yield _Beside(rows, answer)

    def _keep_room(self, connection: Connection) -> None:
        """Refuse what needs room and has none; room is kept until the commit.

        Nor is a job let in whose earlier handler runs on: there would be two of them.
        """
        for n, (group, answer) in enumerate(zip(self._groups, self._last, strict=True)):
            if not group.needs_room or isinstance(answer, Refused):
                continue
            if _lingers(connection, answer):
                self._last[n] = LINGERING
                continue
            if any(map(brings_to_life, answer)):
                tenant = {"tenant": answer[0].tenant_id}
                ((code,),) = connection.execute(_ROOM, tenant).fetchall()
                if code is not None:
                    self._last[n] = Refused(text(code))

    def _committed(self, connection: Connection) -> dict[UUID, int]:
        changed = [
            change.ref.id
            for answer in self._last
            if not isinstance(answer, Refused)
            for change in answer
        ]
        rows = connection.execute(
            _COMMITTED, {"ids": changed, "commit_id": str(self._commit_id)}
        ).fetchall()
        return {uuid(row[0]): number(row[1]) for row in rows}

    def _results(self, positions: dict[UUID, int]) -> list[Result]:
        tell_written(self._last)
        return [
            answer
            if isinstance(answer, Refused)
            else Written(
                answer,
                _position(answer, positions),
            )
            for answer in self._last
        ]


def _lingers(connection: Connection, answer: "tuple[Change, ...]") -> bool:
    """Whether a handler still runs of a job that is changed, and not born."""
    jobs = [it.ref.id for it in answer if it.ref.kind is StreamKind.JOB and it.expected]
    if not jobs:
        return False
    ((lingers,),) = connection.execute(_LINGERS, {"jobs": jobs}).fetchall()
    return bool(lingers)


class _Beside(NamedTuple):
    rows: Rows
    changes: "tuple[Change, ...]"

    def position(self, positions: dict[UUID, int]) -> int:
        return _position(self.changes, positions)


def _position(changes: "tuple[Change, ...]", positions: dict[UUID, int]) -> int:
    return max((positions.get(each.ref.id, 0) for each in changes), default=0)
