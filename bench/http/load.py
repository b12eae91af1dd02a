"""Clients that ask one thing again and again, each over a connection of its own."""

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Final
from urllib.parse import urlsplit

from bench.child import BenchError

CLIENTS: Final = 16
_NUMBERS: Final = count(1)


@dataclass(frozen=True, slots=True)
class Asked:
    """One kind of request."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: str = ""
    is_keyed: bool = False
    """Whether each goes out under a key of its own."""

    def wire(self, host: str) -> bytes:
        """Return the next request of this kind as it is sent."""
        headers = {"Host": host, **self.headers}
        if self.body:
            headers["Content-Type"] = "application/json"
            headers["Content-Length"] = str(len(self.body))
        if self.is_keyed:
            headers["Idempotency-Key"] = f"bench-{next(_NUMBERS):012}"
        lines = [f"{name}: {value}" for name, value in headers.items()]
        head = "\r\n".join([f"{self.method} {self.path} HTTP/1.1", *lines])
        return f"{head}\r\n\r\n{self.body}".encode()


@dataclass(slots=True)
class Measured:
    """What one measure saw."""

    seconds: float = 0.0
    taken: list[float] = field(default_factory=list[float])
    """Seconds of each request."""

    @property
    def rate(self) -> float:
        """Requests a second, of all clients."""
        return len(self.taken) / self.seconds


def ask(address: str, asked: Asked, seconds: float) -> Measured:
    """Ask for that long, as many as there are clients at once.

    Raises:
        BenchError: something else than a success was answered.
    """
    return asyncio.run(_ask(address, asked, seconds))


async def _ask(address: str, asked: Asked, seconds: float) -> Measured:
    measured = Measured()
    began_at = time.perf_counter()
    ends_at = began_at + seconds
    await asyncio.gather(
        *(_client(address, asked, ends_at, measured) for _ in range(CLIENTS))
    )
    measured.seconds = time.perf_counter() - began_at
    return measured


async def _client(
    address: str, asked: Asked, ends_at: float, measured: Measured
) -> None:
    split = urlsplit(address)
    reader, writer = await asyncio.open_connection(split.hostname, split.port)
    while (began_at := time.perf_counter()) < ends_at:
        writer.write(asked.wire(split.netloc))
        await _answer(reader)
        measured.taken.append(time.perf_counter() - began_at)
    writer.close()
    await writer.wait_closed()


async def _answer(reader: asyncio.StreamReader) -> None:
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    status, *lines = head.split("\r\n")
    headers = dict(line.lower().split(": ", 1) for line in lines if line)
    body = await reader.readexactly(int(headers["content-length"]))
    if not status.split()[1].startswith("2"):
        msg = f"{status}: {body[:300].decode()}"
        raise BenchError(msg)
