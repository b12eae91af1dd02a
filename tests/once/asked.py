"""Requests under keys, and groups that are asked for under them."""

import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import psycopg

from application.unit import Group, Locked, Once, Refused, Result
from domain.event import Instant
from domain.stream import Change, Ref
from infrastructure.postgres.batch_store import BatchStore
from tests.store.groups import births

KEY = "key-0000-0001"
REQUEST = {"method": "POST", "route": "/v1/jobs", "path": {}, "body": {"a": 1, "b": 2}}


def once(**more: Any) -> Once:  # noqa: ANN401 - members of Once
    """Return a request of one principal under one key, in every member but `more`."""
    members: dict[str, Any] = {
        "tenant_id": "default",
        "principal": "shop:a",
        "key": KEY,
        "request": REQUEST,
        "status": 202,
    }
    return Once(**members | more)


def birth_once(change: Change, asked: Once | None = None) -> Group:
    """Return the birth of a job under a key."""
    asked = once() if asked is None else asked
    return replace(births(change), once=asked.making("job", str(change.ref.id)))


@contextmanager
def running(
    store: BatchStore, group: Group, answer: Refused | None = None
) -> Iterator[Future[list[Result]]]:
    """Commit a group that has decided, and goes on when the context ends."""
    begun, may_go = threading.Event(), threading.Event()

    def decide(locked: Locked, now: Instant) -> tuple[Change, ...] | Refused:
        begun.set()
        assert may_go.wait(30)
        return answer or group.decide(locked, now)

    with ThreadPoolExecutor(1) as others:
        first = others.submit(store.commit, [replace(group, decide=decide)])
        try:
            assert begun.wait(30)
            yield first
        finally:
            may_go.set()


def keys(connection: psycopg.Connection[Any]) -> list[tuple[str, str, int, str, str]]:
    """Return all stored keys: whose, which, and what they answer."""
    return connection.execute(
        "SELECT principal, key, status, made_kind, made_id"
        "  FROM counterfoil.idempotency_keys ORDER BY tenant_id, principal, key"
    ).fetchall()


def born(connection: psycopg.Connection[Any], *changes: Change | Ref) -> list[bool]:
    """Return for each stream whether it was born."""
    ids = [each.id if isinstance(each, Ref) else each.ref.id for each in changes]
    rows = connection.execute(
        "SELECT EXISTS (SELECT FROM counterfoil.events e WHERE e.stream_id = i)"
        "  FROM unnest(%s::uuid[]) WITH ORDINALITY AS t(i, n) ORDER BY n",
        [ids],
    ).fetchall()
    return [bool(row[0]) for row in rows]
