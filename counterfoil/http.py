"""A client of the REST API for shops and programs, typed by the contract.

    with Shop("https://counterfoil.example.org", token) as shop:
        order = shop.settle({"orderId": "A-1001", …})
        job = shop.enqueue("mail", {"to": "anna"}, key="mail:A-1001")
        job = shop.job(job.id, wait=10)

Every change goes out under an `Idempotency-Key`, one of its own if none is given, so a
lost answer, a 429 and a 503 are asked again until `patience` is over, and never twice.
"""

import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import Any, Final, Self
from urllib.parse import quote

import httpx
import msgspec

_AGAIN: Final = frozenset({429, 503})
_RUNNING: Final = "idempotency_in_progress"
_PAUSE_SECONDS: Final = 0.2
_LONGEST_PAUSE_SECONDS: Final = 5.0


class ApiError(Exception):
    """The API has refused something; `code` is the problem's stable name."""

    def __init__(self, problem: "Problem", retry_after: float | None) -> None:
        """Keep the problem, and when to ask again (seconds)."""
        self.problem = problem
        self.retry_after = retry_after
        super().__init__(f"{problem.code} ({problem.status}): {problem.detail}")

    @property
    def code(self) -> str:
        """The problem's stable name."""
        return self.problem.code


class UnreachableError(Exception):
    """No answer came, for as long as the client's patience has lasted."""


class Mistake(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that is wrong with a request."""

    code: str
    detail: str
    pointer: str | None = None
    parameter: str | None = None


class Problem(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What the API says of a refusal (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    request_id: str
    retryable: bool
    errors: tuple[Mistake, ...] = ()
    state: str | None = None
    allowed: tuple[str, ...] = ()


class Owed(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that an order owes."""

    id: str
    state: str
    operation: str | None = None
    line: int | None = None
    code: str | None = None


class Order(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One order, as it is now."""

    id: str
    order_id: str
    customer_id: str
    kind: str
    state: str
    currency: str
    amount_minor: int
    refunded_minor: int | None
    settled_at: datetime
    job_id: str | None
    operations: tuple[Owed, ...]
    deliveries: tuple[Owed, ...]
    position: str
    replayed: bool = False


class Job(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One job: `queued`, `running`, `succeeded`, `failed` or `cancelled`."""

    id: str
    kind: str
    queue: str
    state: str
    attempt: int
    created_at: datetime
    finalized_at: datetime | None
    code: str | None
    duplicate: bool = False
    replayed: bool = False


class Attempt(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One attempt of a job."""

    attempt: int
    started_at: datetime
    ended_at: datetime | None
    result: str | None
    code: str | None


class Report(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What became of a job."""

    id: str
    kind: str
    state: str
    attempts: tuple[Attempt, ...]
    progress: dict[str, Any] | None
    result: dict[str, Any] | None
    code: str | None


class _Page(msgspec.Struct, frozen=True):
    next: str | None


class _Jobs(msgspec.Struct, frozen=True):
    items: tuple[Job, ...]
    page: _Page


class Shop:
    """Speaks to the API for one tenant, with one token; threads may share it."""

    def __init__(  # noqa: PLR0913 - all but the first two have a default
        self,
        address: str,
        token: str,
        *,
        patience: float = 30.0,
        timeout: float = 40.0,
        sleep: Callable[[float], None] = time.sleep,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        """Take where the API is, a token of `/v1`, and how long to go on asking (s)."""
        self._patience, self._sleep = patience, sleep
        self._client = httpx.Client(
            base_url=address.rstrip("/") + "/v1",
            headers={"Authorization": f"Bearer {token}"},
            timeout=timeout,
            transport=transport,
        )

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close its connections."""
        self._client.close()

    def settle(self, order: Mapping[str, object], *, key: str | None = None) -> Order:
        """Settle an order that was paid; the same again answers what is stored."""
        return self._change("/orders/settle", Order, key, order)

    def refund(
        self, order_id: str, reason: str, *, key: str | None = None, **members: object
    ) -> Job:
        """Say that an order's money went back; its job decides what that means."""
        path = f"/orders/{_part(order_id)}/refund"
        return self._change(path, Job, key, {"reason": reason, **members})

    def order(self, order_id: str) -> Order:
        """Return an order by the shop's own id."""
        return self._ask("GET", f"/orders/{_part(order_id)}", Order)

    def enqueue(
        self,
        kind: str,
        args: Mapping[str, object] | None = None,
        *,
        key: str | None = None,
        **members: object,
    ) -> Job:
        """Ask for a job; `members` are the contract's: `uniqueKey`, `runAt` …."""
        body = {"kind": kind, "args": dict(args or {}), **members}
        return self._change("/jobs", Job, key, body)

    def job(self, job_id: str, *, wait: int | None = None) -> Job:
        """Return a job; with `wait`, when it has ended or after so many seconds."""
        headers = {} if wait is None else {"Prefer": f"wait={wait}"}
        return self._ask("GET", f"/jobs/{_part(job_id)}", Job, headers=headers)

    def jobs(self, filter_: str = "", *, limit: int = 50) -> Iterator[Job]:
        """Yield the jobs that fit a filter, the newest first, page by page."""
        cursor: str | None = None
        while True:
            asked = {"f": filter_ or None, "limit": limit, "cursor": cursor}
            given = {name: value for name, value in asked.items() if value is not None}
            page = self._ask("GET", "/jobs", _Jobs, params=given)
            yield from page.items
            cursor = page.page.next
            if cursor is None:
                return

    def report(self, job_id: str) -> Report:
        """Return what became of a job: attempts, progress, result."""
        return self._ask("GET", f"/jobs/{_part(job_id)}/report", Report)

    def _change[T](
        self, path: str, kind: type[T], key: str | None, body: Mapping[str, object]
    ) -> T:
        headers = {"Idempotency-Key": key or str(uuid.uuid4())}
        return self._ask("POST", path, kind, headers=headers, json=dict(body))

    def _ask[T](self, method: str, path: str, kind: type[T], **request: Any) -> T:  # noqa: ANN401 - httpx's
        ends_at, pause = time.monotonic() + self._patience, _PAUSE_SECONDS
        while True:
            refused: ApiError | None = None
            lost: httpx.TransportError | None = None
            try:
                answer = self._client.request(method, path, **request)
                if answer.is_success:
                    return msgspec.json.decode(answer.content, type=kind)
                refused = _refused(answer)
            except httpx.TransportError as error:
                lost = error
            if refused is not None and not _passes(refused):
                raise refused
            rest = pause if refused is None else refused.retry_after or pause
            if time.monotonic() + rest > ends_at:
                raise refused or UnreachableError(str(lost)) from lost
            self._sleep(rest)
            pause = min(pause * 2, _LONGEST_PAUSE_SECONDS)


def _part(value: str) -> str:
    return quote(value, safe="")


def _passes(refused: ApiError) -> bool:
    """Whether the same request may be answered otherwise a little later."""
    return refused.problem.status in _AGAIN or refused.code == _RUNNING


def _refused(answer: httpx.Response) -> ApiError:
    given = answer.headers.get("retry-after", "")
    retry_after = float(given) if given.isdecimal() else None
    try:
        problem = msgspec.json.decode(answer.content, type=Problem)
    except msgspec.DecodeError:
        # Whatever stands before the API has answered in its place.
        problem = Problem(
            type="about:blank",
            title="No problem of the API's own",
            status=answer.status_code,
            detail=f"{answer.status_code} {answer.reason_phrase}",
            code="unknown",
            request_id=answer.headers.get("x-request-id", ""),
            retryable=answer.status_code in _AGAIN,
        )
    return ApiError(problem, retry_after)
