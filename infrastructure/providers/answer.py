"""What came back of one request, before anybody judges it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole HTTP answer, its body at most 1 MiB."""

    status: int
    body: bytes = b""
    retry_after: str | None = None
    date: str | None = None
    """When it was sent, as its server says: what a date of Retry-After counts from."""
    is_oversized: bool = False
    """The body was longer than we read; what was read is not kept."""


@dataclass(frozen=True, slots=True)
class NoAnswer:
    """The connection failed, or the time was up."""

    has_sent: bool
    """Whether a byte of the request had gone out: it may have been applied."""
    reason: str


@dataclass(frozen=True, slots=True)
class Stopped:
    """The guard said no before a byte had gone out."""
