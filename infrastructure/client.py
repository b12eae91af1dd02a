"""The front door for Python: settle, refund and enqueue in the caller's transaction.

    with connection.transaction():
        connection.execute("INSERT INTO payments …")
        Client(connection).settle_order({"orderId": …})

The client never commits and never rolls back: what it wrote lives or dies with the
caller's own rows (I1).  After a refusal PostgreSQL counts the transaction as failed;
whoever wants to go on wraps the call in `connection.transaction()`, a savepoint.

A `psycopg.errors.SerializationFailure` or `DeadlockDetected` passes unchanged: the
whole transaction is to be repeated by whoever began it.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import (
    Any,
    Final,
    LiteralString,
    NoReturn,
    Protocol,
    Required,
    TypedDict,
    Unpack,
)

import msgspec
import psycopg
from psycopg.rows import tuple_row

from application.errors import QuotaExceededError
from application.front_door import Enqueued, KeyReusedError, RefundAsked, Settled
from domain.errors import InvalidRequestError
from domain.members import INVALID, is_object
from domain.plain_json import Plain, plain, without_floats

_SETTLE: Final = "SELECT counterfoil.settle_order(%(request)s::jsonb)::text"
_REFUND: Final = "SELECT counterfoil.refund_order(%(request)s::jsonb)::text"
_ENQUEUE: Final = "SELECT counterfoil.enqueue(%(request)s::jsonb)::text"
# One text for all: as jsonb[] each would be quoted, and parsed at more than twice the
# cost.
_ENQUEUE_MANY: Final = """
SELECT coalesce(json_agg(json_build_object(
           'jobId', e.job_id, 'duplicate', e.duplicate, 'position', e.position)
           ORDER BY e.index), '[]')::text
  FROM counterfoil.enqueue_many(
           ARRAY(SELECT jsonb_array_elements(%(request)s::jsonb))) e
"""

_settled = msgspec.json.Decoder(Settled)
_refund_asked = msgspec.json.Decoder(RefundAsked)
_enqueued = msgspec.json.Decoder(Enqueued)
_all_enqueued = msgspec.json.Decoder(list[Enqueued])


class Kind(Protocol):
    """What the client fills in from a job kind's entry."""

    @property
    def args(self) -> type[Any]:
        """The struct of its arguments."""
        ...

    @property
    def queue(self) -> str:
        """The queue of its jobs."""
        ...

    @property
    def unique_key(self) -> Callable[[Any], str | None]:
        """While an unfinished job has this key, no second one is made."""
        ...

    @property
    def serial_key(self) -> Callable[[Any], str | None]:
        """Jobs with one key run one at a time, or as `concurrency_limit` says."""
        ...

    @property
    def concurrency_limit(self) -> int:
        """How many jobs of one serial key may run at once."""
        ...


class EnqueueOptions(TypedDict, total=False):
    """Members of a job beside its kind and arguments; all have defaults."""

    tenant: str
    queue: str
    priority: int
    """1 (first) to 4."""
    run_at: datetime | None
    unique_key: str | None
    serial_key: str | None
    concurrency_limit: int | None
    """How many jobs of its serial key may run at once; None: one."""
    max_attempts: int | None
    """None: the budget of the kind."""
    deadline: datetime | None
    correlation_id: str | None
    notify: bool


class JobRequest(EnqueueOptions, total=False):
    """One of many jobs: what `Client.enqueue` takes, as one mapping."""

    kind: Required[str]
    args: Mapping[str, object] | msgspec.Struct | None


_MEMBERS: Final = {
    "run_at": "runAt",
    "unique_key": "uniqueKey",
    "serial_key": "serialKey",
    "concurrency_limit": "concurrencyLimit",
    "max_attempts": "maxAttempts",
    "correlation_id": "correlationId",
}


class Client:
    """Settle, refund and enqueue over a connection that the caller owns."""

    def __init__(
        self,
        connection: psycopg.Connection[Any],
        kinds: Mapping[str, Kind] | None = None,
    ) -> None:
        """Use `connection`; `kinds` say queue and keys of the jobs they name."""
        self._connection = connection
        self._kinds: Mapping[str, Kind] = kinds or {}

    def settle_order(self, request: Mapping[str, object]) -> Settled:
        """Return the settled order; the same request again returns the stored one.

        Raises:
            InvalidRequestError: a member is missing, unknown or wrong.
            KeyReusedError: the order's id was settled with other content.
        """
        return _settled.decode(self._ask(_SETTLE, without_floats(plain(request))))

    def refund_order(self, request: Mapping[str, object]) -> RefundAsked:
        """Return the refund that is asked for; the same one again returns the stored.

        What it means is decided by its job: access that the order has granted ends,
        and goods that no provider was asked for are not bought any more.

        Raises:
            InvalidRequestError: a member is missing, unknown or wrong.
            KeyReusedError: the order was refunded before, with other content.
        """
        return _refund_asked.decode(self._ask(_REFUND, without_floats(plain(request))))

    def enqueue(
        self,
        kind: str,
        args: Mapping[str, object] | msgspec.Struct | None = None,
        **options: Unpack[EnqueueOptions],
    ) -> Enqueued:
        """Return the new job, or the unfinished one that has the unique key.

        Raises:
            InvalidRequestError: a member is missing, unknown or wrong.
            QuotaExceededError: as many jobs are pending as may be.
        """
        return _enqueued.decode(self._ask(_ENQUEUE, self._job(kind, args, options)))

    def enqueue_request(self, request: Mapping[str, object]) -> Enqueued:
        """Return what `enqueue` does, of a request whose members are those of SQL.

        Raises:
            InvalidRequestError: a member is missing, unknown or wrong.
            QuotaExceededError: as many jobs are pending as may be.
        """
        return _enqueued.decode(self._ask(_ENQUEUE, plain(request)))

    def enqueue_many(self, requests: Iterable[JobRequest]) -> list[Enqueued]:
        """Return what `enqueue` would for each of at most 10,000 requests, in order.

        All of them are asked for in one call, or none is.

        Raises:
            InvalidRequestError: a member is missing, unknown or wrong; its path begins
                with the request's index, from 0.
            QuotaExceededError: there is no room for all of them.
        """
        asked: list[Plain] = []
        for index, request in enumerate(requests):
            if not is_object(request):
                raise InvalidRequestError(INVALID, f"[{index}]", "a mapping")
            options = {
                name: told
                for name, told in request.items()
                if name not in {"kind", "args"}
            }
            try:
                kind = request.get("kind", "")
                asked.append(self._job(kind, request.get("args"), options))
            except InvalidRequestError as error:
                path = f"[{index}].{error.path}"
                raise InvalidRequestError(error.code, path, error.detail) from error
        return _all_enqueued.decode(self._ask(_ENQUEUE_MANY, asked))

    def _job(
        self,
        kind: str,
        args: Mapping[str, object] | msgspec.Struct | None,
        options: Mapping[str, object],
    ) -> Plain:
        request: dict[str, object] = {"kind": kind, "args": plain_args(args)}
        request |= self._defaults(kind, request["args"])
        request |= {_MEMBERS.get(name, name): told for name, told in options.items()}
        if "concurrency_limit" not in options and request.get("serialKey") is None:
            request.pop("concurrencyLimit", None)  # the kind's, for a job without a key
        return plain(request)

    def _defaults(self, kind: str, args: object) -> dict[str, object]:
        # What is no text has no entry, and is refused with the rest of the request.
        entry = self._kinds.get(kind) if _is_text(kind) else None
        if entry is None:
            return {}
        try:
            struct: object = msgspec.convert(args, entry.args)
        except msgspec.ValidationError as error:
            raise InvalidRequestError(INVALID, "args", str(error)) from error
        return {
            "queue": entry.queue,
            "uniqueKey": entry.unique_key(struct),
            "serialKey": entry.serial_key(struct),
            "concurrencyLimit": entry.concurrency_limit,
        }

    def _ask(self, statement: LiteralString, request: Plain) -> str:
        with self._connection.cursor(row_factory=tuple_row) as cursor:
            try:
                # ASCII, so that the connection's encoding does not matter.
                cursor.execute(statement, {"request": json.dumps(request)})
            except psycopg.DatabaseError as error:
                _refuse(error)
            row = cursor.fetchone()
        if row is None:
            msg = "a function that returns one value returned none"
            raise psycopg.DataError(msg)
        return str(row[0])


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def plain_args(args: Mapping[str, object] | msgspec.Struct | None) -> Plain:
    """Return the arguments of a job as they are sent.

    Raises:
        InvalidRequestError: they hold what JSON has not; see `plain`.
    """
    told: object = {} if args is None else args
    if isinstance(args, msgspec.Struct):
        # Instants stay what they are until `plain` has looked for their offset.
        told = msgspec.to_builtins(args, builtin_types=(datetime,))
    return plain(told, "args")


def _refuse(error: psycopg.DatabaseError) -> NoReturn:
    """Raise what the front door meant by its SQLSTATE, or the driver's error itself."""
    path = error.diag.message_detail or ""
    code, _, detail = (error.diag.message_primary or "").partition(": ")
    match error.sqlstate:
        case "CF400":
            told = detail.removeprefix(f"{path}: ")
            raise InvalidRequestError(code, path, told) from error
        case "CF409":
            raise KeyReusedError(detail, path) from error
        case "CF429":
            after = re.search(r"retry after (\d+) s", path)
            seconds = int(after[1]) if after else 1
            raise QuotaExceededError(code, detail, seconds) from error
        case _:
            raise error
