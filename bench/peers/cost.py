"""What a drain costs: processor time, memory, WAL, bytes and dead rows."""

import os
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from infrastructure.postgres.database import Connection
from infrastructure.postgres.heads.table import number

_PROC: Final = Path("/proc")
_TICKS: Final = os.sysconf("SC_CLK_TCK")
# Fields of /proc/*/stat, counted from the one after the name in parentheses.
_PARENT, _USER, _SYSTEM, _OF_CHILDREN = 1, 11, 12, slice(13, 15)

_LOOK: Final = """
SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint,
       (SELECT coalesce(sum(pg_total_relation_size(relid)), 0)::bigint
          FROM pg_stat_user_tables)
"""
_DEAD: Final = "SELECT coalesce(sum(n_dead_tup), 0)::bigint FROM pg_stat_user_tables"
_OTHERS: Final = """
SELECT EXISTS (SELECT FROM pg_stat_activity
                WHERE datname = current_database()
                  AND backend_type = 'client backend'
                  AND pid <> pg_backend_pid())
"""
_FAREWELL_SECONDS: Final = 5.0
_LOOK_SECONDS: Final = 0.02
_BACKEND: Final = "SELECT pg_backend_pid()"


@dataclass(frozen=True, slots=True)
class Process:
    """One line of /proc/*/stat."""

    parent: int
    seconds: float
    """Of the processor, its own."""
    childrens_seconds: float
    """Of its children that have ended."""


def parse(stat: str) -> Process:
    """Read a line of /proc/*/stat; the name in it may hold anything."""
    fields = stat.rpartition(")")[2].split()
    own = int(fields[_USER]) + int(fields[_SYSTEM])
    ended = sum(int(each) for each in fields[_OF_CHILDREN])
    return Process(int(fields[_PARENT]), own / _TICKS, ended / _TICKS)


def processor_seconds(pids: Iterable[int], proc: Path = _PROC) -> float:
    """Return the processor time of processes and of their ended children."""
    found = (parse((proc / str(pid) / "stat").read_text()) for pid in pids)
    return sum(each.seconds + each.childrens_seconds for each in found)


def family_seconds(pid: int, proc: Path = _PROC) -> float:
    """Return the processor time of a process and of its children, also ended ones."""
    total = processor_seconds([pid], proc)
    for file in proc.glob("[0-9]*/stat"):
        with suppress(OSError):  # it may end while it is looked at
            if (child := parse(file.read_text())).parent == pid:
                total += child.seconds + child.childrens_seconds
    return total


def peak_bytes(pid: int, proc: Path = _PROC) -> int:
    """Return the most memory that a process had resident."""
    for line in (proc / str(pid) / "status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return 0


@dataclass(frozen=True, slots=True)
class Look:
    """All counters at one moment."""

    worker_seconds: float
    server_seconds: float
    wal_bytes: int
    disk_bytes: int


def look(connection: Connection, workers: Iterable[int]) -> Look:
    """Read all counters; `workers` are process ids.  What we ask costs nobody."""
    backend = number(connection.execute(_BACKEND).fetchall()[0][0])
    postmaster = parse((_PROC / str(backend) / "stat").read_text()).parent
    wal, disk = (number(each) for each in connection.execute(_LOOK).fetchall()[0])
    server = family_seconds(postmaster) - processor_seconds([backend])
    return Look(processor_seconds(workers), server, wal, disk)


def dead_rows(connection: Connection) -> int:
    """Return the dead rows of all tables, once the workers' backends have ended.

    A backend tells its counts at its end; those that stay are counted as they are.
    """
    give_up_at = time.monotonic() + _FAREWELL_SECONDS
    while connection.execute(_OTHERS).fetchall()[0][0]:
        if time.monotonic() >= give_up_at:
            break
        time.sleep(_LOOK_SECONDS)
    return number(connection.execute(_DEAD).fetchall()[0][0])


def per_job(before: Look, after: Look, jobs: int) -> dict[str, float]:
    """Return what one job cost."""
    return {
        "worker CPU": (after.worker_seconds - before.worker_seconds) / jobs * 1e6,
        "server CPU": (after.server_seconds - before.server_seconds) / jobs * 1e6,
        "WAL": (after.wal_bytes - before.wal_bytes) / jobs,
        "disk": (after.disk_bytes - before.disk_bytes) / jobs,
    }
