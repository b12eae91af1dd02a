"""What a worker tells of its runs: whole lines, at once, so that SIGKILL takes none.

`b` when a handler begins and `e` when it ends, the job's number, nanoseconds of the
monotonic clock.  Needs the standard library alone: peers have an environment of
their own.
"""

import asyncio
import os
import sys
import threading
import time
from typing import Final

from bench.outages.settings import HANDLER_SECONDS

_OUT: Final = sys.stdout.fileno()


def handle(n: int) -> None:
    """Run job `n` in a thread of its own."""
    tell("b", n)
    time.sleep(HANDLER_SECONDS)
    tell("e", n)


async def handle_async(n: int) -> None:
    """Run job `n` in the event loop."""
    tell("b", n)
    await asyncio.sleep(HANDLER_SECONDS)
    tell("e", n)


def tell(what: str, n: int) -> None:
    """Write one whole line, past every buffer."""
    os.write(_OUT, f"{what} {n} {time.monotonic_ns()}\n".encode())


def wait_for_go() -> None:
    """Say `ready`, and return when told to go.

    Raises:
        SystemExit: the input ended instead.
    """
    print("ready", flush=True)
    if sys.stdin.readline().strip() != "go":
        raise SystemExit


async def end_of_input() -> None:
    """Return when the worker is to stop.

    The thread that waits is no reason for a worker that failed to live on.
    """
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()

    def wait() -> None:
        while os.read(sys.stdin.fileno(), 1_024):
            pass
        loop.call_soon_threadsafe(ended.set)

    threading.Thread(target=wait, daemon=True).start()
    await ended.wait()
