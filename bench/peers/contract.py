"""The contract's words, for drivers in Python; needs the standard library alone."""

import asyncio
import json
import sys
import threading
import time
from collections.abc import Awaitable, Callable
from typing import Any, Final, Protocol

CALL_SECONDS: Final = 0.005
"""How long a provider takes to answer."""
PAY: Final = """
INSERT INTO shop.payments (id, customer_id, amount_minor)
VALUES (gen_random_uuid(), 'customer-1', 1490)
"""
"""A row of the caller's own."""
WARM_UP: Final = 20
"""Calls before the clock runs: connections are opened and statements prepared."""
_TELL_SECONDS: Final = 0.02


class Tally:
    """What a worker's handlers have begun; safe for threads."""

    def __init__(self, mode: str) -> None:
        """Count for a worker of `mode`."""
        self.calls = mode == "call"
        """Whether each handler is to wait for `CALL_SECONDS`."""
        self.picks_up = mode == "pickup"
        """Whether latency counts rather than throughput."""
        self._began: list[tuple[int, int]] = []

    def begin(self, n: int) -> None:
        """Take note that the handler of job `n` has begun."""
        self._began.append((n, time.monotonic_ns()))

    def tell_in_background(self) -> None:
        """Print the number of handlers, whenever it has grown, from a thread."""
        threading.Thread(target=self._tell, daemon=True).start()

    def _tell(self) -> None:
        told = 0
        while True:
            time.sleep(_TELL_SECONDS)
            if len(self._began) > told:
                told = len(self._began)
                print("handled", told, flush=True)

    def tell_beginnings(self) -> None:
        """Print when each handler began, if that was asked for."""
        if self.picks_up:
            lines = (f"began {n} {at}\n" for n, at in self._began)
            sys.stdout.write("".join(lines))
        sys.stdout.flush()


class Stop:
    """The end of the standard input, which asks a worker to stop."""

    async def wait(self) -> None:
        """Return at the end of the input."""
        await asyncio.to_thread(sys.stdin.read)


class Driver(Protocol):
    """One queue through its own library; the jobs' arguments are `{"n": n}`."""

    async def setup(self) -> None:
        """Make its tables."""
        ...

    async def open(self) -> None:
        """Connect, to enqueue."""
        ...

    async def enqueue(self, n: int) -> None:
        """Enqueue one job and commit."""
        ...

    async def enqueue_many(self, numbers: list[int]) -> None:
        """Enqueue many jobs at once and commit."""
        ...

    async def pay(self, n: int | None) -> None:
        """Commit a row of the caller's own, and job `n` with it if there is one."""
        ...

    async def work(self, tally: Tally, ready: Callable[[], Awaitable[None]]) -> None:
        """Await `ready`, handle jobs until the input ends, and stop politely."""
        ...


async def drive(driver: Driver, words: list[str]) -> None:
    """Do what the contract's `words` ask for."""
    match words:
        case ["setup"]:
            await driver.setup()
        case ["worker", mode]:
            tally = Tally(mode)
            await driver.work(tally, lambda: _ready(tally))
            tally.tell_beginnings()
        case [word, *numbers]:
            await driver.open()
            print(json.dumps(await _enqueue(driver, word, numbers)), flush=True)
        case _:
            msg = f"not of the contract: {words}"
            raise SystemExit(msg)


async def _ready(tally: Tally) -> None:
    print("ready", flush=True)
    if (await asyncio.to_thread(sys.stdin.readline)).strip() != "go":
        raise SystemExit
    tally.tell_in_background()


async def _enqueue(driver: Driver, word: str, numbers: list[str]) -> dict[str, Any]:
    match word, numbers:
        case "single", [times]:
            return await _singles(driver, int(times))
        case "bulk", [jobs, batch]:
            return await _bulks(driver, int(jobs), int(batch))
        case "transaction", [times]:
            return await _transactions(driver, int(times))
        case "pickup", [jobs, seconds]:
            return await _pickups(driver, int(jobs), float(seconds))
        case _:
            msg = f"not of the contract: {word} {numbers}"
            raise SystemExit(msg)


async def _singles(driver: Driver, times: int) -> dict[str, Any]:
    spent = [await _timed(driver.enqueue(n)) for n in range(times + WARM_UP)]
    return {"jobs": len(spent), "seconds": spent[WARM_UP:]}


async def _bulks(driver: Driver, jobs: int, batch: int) -> dict[str, Any]:
    spent = [
        await _timed(driver.enqueue_many(list(range(first, min(first + batch, jobs)))))
        for first in range(0, jobs, batch)
    ]
    return {"jobs": jobs, "seconds": spent}


async def _transactions(driver: Driver, times: int) -> dict[str, Any]:
    alone: list[float] = []
    with_job: list[float] = []
    for n in range(times + WARM_UP):
        alone.append(await _timed(driver.pay(None)))
        with_job.append(await _timed(driver.pay(n)))
    return {
        "jobs": len(with_job),
        "alone": alone[WARM_UP:],
        "with_job": with_job[WARM_UP:],
    }


async def _pickups(driver: Driver, jobs: int, seconds: float) -> dict[str, Any]:
    sent: list[tuple[int, int]] = []
    due = time.monotonic()
    for n in range(jobs):
        due += seconds
        await asyncio.sleep(max(due - time.monotonic(), 0.0))
        await driver.enqueue(n)
        sent.append((n, time.monotonic_ns()))
    return {"jobs": jobs, "committed": sent}


async def _timed(work: Awaitable[object]) -> float:
    began_at = time.perf_counter()
    await work
    return time.perf_counter() - began_at
