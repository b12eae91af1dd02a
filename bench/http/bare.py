"""A bare route: the same framework, server, structs and threads, and nothing behind it.

python -m bench.http.bare    prints its address, and answers until it is terminated
"""

import signal
import threading
from typing import Any

import msgspec
from litestar import Litestar, get, post
from litestar.params import JSONBody

from api.http.server import HttpServer


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """What a job looks like, about as large."""

    id: str
    kind: str
    state: str
    attempts: tuple[str, ...]
    links: dict[str, str]


class Wanted(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is asked for."""

    kind: str
    args: dict[str, Any]


JOB = Job(
    id="job_0197d3a0-0000-7000-8000-000000000001",
    kind="noop",
    state="queued",
    attempts=(),
    links={name: f"/v1/jobs/{name}" for name in ("self", "report", "cancel", "retry")},
)


@get("/bare", sync_to_thread=True)
def read() -> Job:
    """Answer what is at hand."""
    return JOB


@post("/bare", sync_to_thread=True, status_code=202)
def write(data: JSONBody[Wanted]) -> Job:
    """Answer what is at hand, to whoever asks for it in full."""
    return msgspec.structs.replace(JOB, kind=data.kind)


def main() -> None:
    """Serve until SIGTERM."""
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda _number, _frame: stop.set())
    server = HttpServer(
        Litestar([read, write], openapi_config=None, logging_config=None),
        "127.0.0.1",
        0,
    )
    server.start()
    print(server.address, flush=True)
    stop.wait()
    server.stop()


if __name__ == "__main__":
    main()
