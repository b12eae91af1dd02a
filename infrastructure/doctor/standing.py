"""What the database tells of the installation."""

import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Any, Final

import psycopg

from application.providers.opening import credential_in
from infrastructure.doctor.finding import Finding, ill, well
from infrastructure.errors import ConfigurationError
from infrastructure.log.horizon import require_positions_ahead
from infrastructure.postgres.database import Connection
from infrastructure.postgres.heads.table import instant, number, text
from infrastructure.providers.registry.rows import read_providers
from infrastructure.settings import Settings
from projections.connections import Lend
from projections.pending import Pending
from projections.queries.projections import ProjectionList

SKEW_SECONDS: Final = 5.0
"""As a worker tells it in its log."""
BEHIND_SECONDS: Final = 30.0
OLD_SECONDS: Final = 600.0
_FULL: Final = 0.9

_NOW: Final = "SELECT counterfoil.now()"

_WITHOUT_WORKERS: Final = """
SELECT j.queue, j.kind, count(*)
  FROM (SELECT queue, kind, run_at
          FROM counterfoil.jobs
         WHERE state = 'waiting' AND gate IS NULL
         LIMIT 100000) j
 WHERE j.run_at <= counterfoil.now()
   AND NOT EXISTS (SELECT FROM counterfoil.workers w
                    WHERE w.stopped_at IS NULL
                      AND w.beat_at > counterfoil.now() - interval '60 seconds'
                      AND j.kind = ANY(w.kinds))
 GROUP BY 1, 2
 ORDER BY 3 DESC
 LIMIT 5
"""

_GUARD: Final = """
SELECT array_to_string(signs, ', ') FROM counterfoil.restore_guard
 WHERE state = 'quarantined'
"""

# Whoever is not ours counts as well: what is dead behind any of them cannot be removed.
_OLD: Final = """
SELECT pid, coalesce(nullif(application_name, ''), 'unnamed'),
       extract(epoch FROM counterfoil.now() - xact_start)::bigint
  FROM pg_stat_activity
 WHERE backend_type = 'client backend'
   AND pid <> pg_backend_pid()
   AND (backend_xmin IS NOT NULL OR backend_xid IS NOT NULL)
   AND xact_start < counterfoil.now() - make_interval(secs => %(old)s)
 ORDER BY xact_start
 LIMIT 5
"""


def positions(_: Settings, connection: Connection) -> Iterator[Finding]:
    """Say whether the sequence of positions is ahead of the log."""
    try:
        require_positions_ahead(connection)
    except ConfigurationError as error:
        yield ill("positions", error.problem, error.remedy)
    else:
        yield well("positions", "ahead of the log")


def clock(_: Settings, connection: Connection) -> Iterator[Finding]:
    """Say whether this machine's clock and the database's agree."""
    before = time.time()
    ((now,),) = connection.execute(_NOW).fetchall()
    ahead = (before + time.time()) / 2 - instant(now).timestamp()
    if abs(ahead) > SKEW_SECONDS:
        told = "ahead of" if ahead > 0 else "behind"
        yield ill(
            "clock",
            f"this machine is {abs(ahead):.0f} s {told} the database",
            "let both machines ask the same time servers",
        )
    else:
        yield well("clock", f"within {SKEW_SECONDS:g} s of the database's")


def credentials(settings: Settings, connection: Connection) -> Iterator[Finding]:
    """Say whether every stored credential can be opened."""
    stored = [it for it in read_providers(connection) if it.sealed is not None]
    ring = settings.data_encryption_keys
    shut = {
        f"{it.tenant_id}/{it.slug}": told
        for it in stored
        if isinstance(told := credential_in(it, ring), str)
    }
    if not shut:
        yield well("keys", f"{len(stored)} stored credentials can be opened")
    for name, told in shut.items():
        yield ill(
            "keys",
            f"the credential of provider {name} {told}",
            "put the key that sealed it into COUNTERFOIL_DATA_ENCRYPTION_KEYS behind "
            "the active one, or set the credential again",
        )


def limits(_: Settings, connection: Connection) -> Iterator[Finding]:
    """Say whether intake is about to refuse jobs."""
    page = Pending(_lend(connection))(None)
    crowded = [
        f"tenant {it.tenant} has {it.pending} of {page.max_tenant_pending}"
        for it in page.tenants
        if page.max_tenant_pending and it.pending >= _FULL * page.max_tenant_pending
    ]
    if page.max_pending and page.pending >= _FULL * page.max_pending:
        crowded.insert(0, f"{page.pending} of {page.max_pending} in all")
    for told in crowded:
        yield ill(
            "limits",
            f"pending jobs: {told}",
            "see what they wait for (`counterfoil jobs`), start workers, or raise "
            "COUNTERFOIL_JOB_MAX_PENDING and COUNTERFOIL_JOB_MAX_TENANT_PENDING",
        )
    if not crowded:
        yield well("limits", f"{page.pending} jobs pending")


def workers(_: Settings, connection: Connection) -> Iterator[Finding]:
    """Say whether somebody runs what is due."""
    rows = connection.execute(_WITHOUT_WORKERS).fetchall()
    for queue, kind, n in rows:
        yield ill(
            "workers",
            f"{n} due jobs of kind {kind} in queue {queue}, and no worker knows it",
            "start `counterfoil worker` where that kind is known "
            "(`counterfoil kinds`), with the settings that it needs",
        )
    if not rows:
        yield well("workers", "somebody runs every kind that is due")


def projections(_: Settings, connection: Connection) -> Iterator[Finding]:
    """Say whether read models follow the log."""
    page, is_well = ProjectionList(_lend(connection))(), True
    for each in page.projections:
        state = each.state
        if each.lag_seconds > BEHIND_SECONDS and state in {"following", "unowned"}:
            state = f"{state}, {each.lag_seconds:.0f} s behind"
        elif state in {"following", "unowned", "unknown"}:
            continue
        is_well = False
        yield ill("projections", f"{each.name}: {state}", _helps(each.state))
    if is_well:
        yield well("projections", "all follow the log")


def _helps(state: str) -> str:
    return {
        "unowned": "start `counterfoil worker`, which carries them forward",
        "following": "see who holds the log back: `counterfoil projections holders`",
        "paused": "`counterfoil projections resume NAME` when its reason is over",
    }.get(state, "`counterfoil projections rebuild NAME`")


def guard(_: Settings, connection: Connection) -> Iterator[Finding]:
    """Say whether purchases are stopped after a restore."""
    rows = connection.execute(_GUARD).fetchall()
    for (signs,) in rows:
        yield ill(
            "restore guard",
            f"nothing is bought: the database may have been restored ({signs})",
            "look up what was bought, then let it go: docs/restore.md",
        )
    if not rows:
        yield well("restore guard", "open")


def snapshots(_: Settings, connection: Connection) -> Iterator[Finding]:
    """Say who keeps what is dead from being removed."""
    rows = connection.execute(_OLD, {"old": OLD_SECONDS}).fetchall()
    for pid, application, age in rows:
        yield ill(
            "snapshots",
            f"the transaction of pid {number(pid)} ({text(application)}) has been open "
            f"for {number(age)} s",
            "end it there, or by pg_terminate_backend; nothing dead is removed before",
        )
    if not rows:
        yield well("snapshots", f"none is older than {OLD_SECONDS:.0f} s")


def _lend(connection: Connection) -> Lend:
    @contextmanager
    def lend() -> Generator[psycopg.Connection[Any]]:
        yield connection

    return lend
