"""Reads that wait for a job's end: `Prefer: wait=10` (RFC 7240).

The wait is at the event loop's, before the handler's thread begins: however many wait,
no thread and no connection is held meanwhile.
"""

import asyncio
import re
from contextlib import suppress
from typing import Any, Final
from uuid import UUID

import msgspec
from litestar import Request
from litestar.concurrency import sync_to_thread

from api.http.authentication.guard import PRINCIPAL, SERVICES
from api.http.live.following import followed
from api.http.services import HttpServices
from api.http.wire.ids import Prefix, given
from application.errors import NotFoundError
from projections.queries.changes import Beyond

LONGEST_SECONDS: Final = 30
_WAIT: Final = re.compile(
    r"(?:^|,)\s*wait\s*=\s*\"?(\d{1,9})\"?\s*(?:$|[,;])", re.IGNORECASE
)
_ENDS: Final = frozenset({"job.succeeded", "job.discarded", "job.cancelled"})


class Waited(msgspec.Struct, frozen=True):
    """How long a read was willing to wait; it has, when the handler begins."""

    seconds: int | None

    @property
    def headers(self) -> dict[str, str]:
        """What the answer says about it."""
        if self.seconds is None:
            return {}
        return {"Preference-Applied": f"wait={self.seconds}"}


async def waited(request: Request[Any, Any, Any]) -> Waited:
    """Return when the job of the path has ended, or the time is over."""
    found = _WAIT.search(request.headers.get("prefer", ""))
    if found is None:
        return Waited(None)
    seconds = min(int(found[1]), LONGEST_SECONDS)
    tenant_id: str = request.scope["state"][PRINCIPAL].tenant_id
    services: HttpServices = request.scope["state"][SERVICES]
    try:
        job_id = given(request.path_params["job_id"], Prefix.JOB)
    except NotFoundError:
        return Waited(seconds)  # the handler says so
    await _wait(services, tenant_id, job_id, seconds)
    return Waited(seconds)


async def _wait(
    services: HttpServices, tenant_id: str, job_id: UUID, seconds: int
) -> None:
    loop, over = asyncio.get_running_loop(), asyncio.Event()

    def listener(told: Beyond | None) -> None:
        if told is None or any(
            row.stream_id == job_id and row.type in _ENDS for row in told.rows
        ):
            loop.call_soon_threadsafe(over.set)

    async with followed(services.feed, listener):
        # Looked at after it follows: an end is seen by either.
        if await sync_to_thread(services.changes.is_unfinished, tenant_id, job_id):
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await over.wait()
