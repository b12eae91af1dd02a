"""Keys in a transaction that somebody else has begun: taken first, kept in the end."""

import json
from typing import Any, Final, LiteralString, NamedTuple

import msgspec
import psycopg
from psycopg.rows import class_row

from application.once.commit import refuse_key
from application.unit import (
    KEY_IN_PROGRESS,
    KEY_REUSED,
    Answer,
    KeyRefused,
    Once,
    Repeated,
)

_TAKE: Final = """
SELECT verdict, status, made_kind, made_id, digest
  FROM counterfoil.take_key(%(tenant)s, %(principal)s, %(key)s, %(request)s::jsonb,
                            %(waits)s)
"""

_FIND: Final = """
SELECT f.verdict, f.status, f.made_kind, f.made_id, ''::bytea AS digest
  FROM counterfoil.find_key(%(tenant)s, %(principal)s, %(key)s,
                            counterfoil.request_hash(%(request)s::jsonb)) f
"""

_KEEP: Final = """
SELECT counterfoil.keep_key(%(tenant)s, %(principal)s, %(key)s, %(digest)s, %(status)s,
                            %(kind)s, %(id)s)
"""

type _Connection = psycopg.Connection[Any]


class Taken(NamedTuple):
    """A key that is had until the transaction ends."""

    once: Once
    digest: bytes


class _Verdict(msgspec.Struct, frozen=True):
    verdict: str
    status: int | None
    made_kind: str | None
    made_id: str | None
    digest: bytes

    def answer(self) -> Answer:
        if self.status is None or self.made_kind is None or self.made_id is None:
            msg = f"a key is {self.verdict} without an answer"
            raise psycopg.DataError(msg)
        return Answer(status=self.status, kind=self.made_kind, id=self.made_id)


def take(
    connection: _Connection, once: Once, *, waits: bool = False
) -> Taken | KeyRefused:
    """Return the key, taken, or why it is not had; asked for before any other lock.

    Nobody waits for a key, but who says so: after a lost answer the backend that has
    it may be one's own.
    """
    told = _asked(connection, _TAKE, once, waits=waits)
    match told.verdict:
        case "first":
            return Taken(once, told.digest)
        case "repeated":
            return Repeated("idempotency_replayed", told.answer())
        case "in_progress":
            return KEY_IN_PROGRESS
        case _:
            return KEY_REUSED


def require(connection: _Connection, once: Once, *, waits: bool = False) -> Taken:
    """Return the key, taken; see `take`.

    Raises:
        AnsweredBeforeError: see `commit_once`, and the others.
    """
    taken = take(connection, once, waits=waits)
    if isinstance(taken, KeyRefused):
        refuse_key(taken)
    return taken


def find(connection: _Connection, once: Once) -> Answer | KeyRefused | None:
    """Return what the same request was answered with; `KEY_REUSED` for another's."""
    told = _asked(connection, _FIND, once)
    match told.verdict:
        case "absent":
            return None
        case "repeated":
            return told.answer()
        case _:
            return KEY_REUSED


def keep(connection: _Connection, taken: Taken, answer: Answer) -> None:
    """Write down what is answered, in the transaction that has taken the key."""
    once = taken.once
    connection.execute(
        _KEEP,
        {
            "tenant": once.tenant_id,
            "principal": once.principal,
            "key": once.key,
            "digest": taken.digest,
            "status": answer.status,
            "kind": answer.kind,
            "id": answer.id,
        },
    )


def _asked(
    connection: _Connection,
    statement: LiteralString,
    once: Once,
    *,
    waits: bool = False,
) -> _Verdict:
    with connection.cursor(row_factory=class_row(_Verdict)) as cursor:
        row = cursor.execute(
            statement,
            {
                "tenant": once.tenant_id,
                "principal": once.principal,
                "key": once.key,
                # ASCII, so that the connection's encoding does not matter.
                "request": json.dumps(once.request),
                "waits": waits,
            },
        ).fetchone()
    if row is None:
        msg = "a function that returns one row returned none"
        raise psycopg.DataError(msg)
    return row
