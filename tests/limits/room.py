"""What tests of limits do: set them, ask for jobs, and see who was let in."""

import json
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg

type Connection = psycopg.Connection[Any]

TENANT_FULL = "tenant_pending_limit"
ALL_FULL = "total_pending_limit"


def limit(connection: Connection, tenant: int = 0, in_all: int = 0) -> None:
    """Let so many be pending for a tenant, and in all; 0 is no limit."""
    connection.execute(
        "UPDATE counterfoil.limits SET max_tenant_pending = %s, max_pending = %s",
        [tenant, in_all],
    )


def enqueue(connection: Connection, **members: object) -> dict[str, Any]:
    """Ask for one job; return the answer."""
    request = json.dumps({"kind": "noop"} | members)
    cursor = connection.execute("SELECT counterfoil.enqueue(%s::jsonb)", [request])
    return dict(cursor.fetchall()[0][0])


def enqueue_many(
    connection: Connection, requests: Sequence[Mapping[str, object]]
) -> int:
    """Ask for many jobs at once; return how many were born."""
    asked = [json.dumps({"kind": "noop", **request}) for request in requests]
    cursor = connection.execute(
        "SELECT count(*) FILTER (WHERE NOT duplicate)"
        "  FROM counterfoil.enqueue_many(%s::jsonb[])",
        [asked],
    )
    return int(cursor.fetchall()[0][0])


def refused(ask: Callable[[], object]) -> str | None:
    """Return the code of the refusal for want of room, None when there was room."""
    try:
        ask()
    except psycopg.Error as error:
        if error.sqlstate != "CF429":
            raise
        return error.diag.message_hint
    return None


def pending(connection: Connection, tenant: str = "default") -> int:
    """Return how many jobs of the tenant are unfinished."""
    cursor = connection.execute(
        "SELECT count(*) FROM counterfoil.jobs WHERE tenant_id = %s", [tenant]
    )
    return int(cursor.fetchall()[0][0])


def holds_no_room(connection: Connection) -> bool:
    """Whether nobody in this database holds an advisory lock."""
    cursor = connection.execute(
        "SELECT count(*) FROM pg_locks l JOIN pg_database d ON d.oid = l.database"
        " WHERE l.locktype = 'advisory' AND d.datname = current_database()"
    )
    return cursor.fetchall() == [(0,)]


def together[Answer](asks: Sequence[Callable[[], Answer]]) -> list[Answer]:
    """Return what each answers, all asked at once."""
    with ThreadPoolExecutor(len(asks)) as crowd:
        return [each.result() for each in [crowd.submit(ask) for ask in asks]]
