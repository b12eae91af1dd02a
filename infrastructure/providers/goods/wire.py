"""Requests to a provider of goods: each over a connection of its own, sent once.

A connection that is kept can be closed by the provider in the moment in which a request
is sent, and then nobody knows whether it was bought; so none is kept.  No redirects, no
proxies from the environment, no cookies, no compression, no second try.

The time limit is below what the guard has promised before the first byte, and counts
from before that: a process that was frozen on the way sends nothing any more.
"""

from dataclasses import dataclass
from http.cookiejar import DefaultCookiePolicy
from typing import Final, override

import httpx

from application.ports import CallGuard
from infrastructure.providers.answer import Answer, NoAnswer, Stopped
from infrastructure.providers.connection import (
    EXCHANGE,
    Clock,
    Exchange,
    HaltedError,
    RestedError,
    boot_seconds,
)
from infrastructure.providers.transport import LARGEST_ANSWER_BYTES, BoundedTransport

LIMIT_SECONDS: Final = 85.0
"""Longest exchange; the guard promises the 90 s of a call (requirements 9.6)."""

_HEADERS: Final = {
    "Accept": "application/json",
    "Accept-Encoding": "identity",
    "Connection": "close",
    "User-Agent": "counterfoil",
}
_UNANSWERED: Final = (httpx.TransportError, httpx.InvalidURL)


@dataclass(frozen=True, slots=True)
class Call:
    """One request: where it goes, what it carries, and what it is about."""

    method: str
    path: str
    """Below the base address, every variable part quoted."""
    about: str
    """The key of the decision to buy, which the provider may note as `X-Request-ID`."""
    body: bytes | None = None
    key: str | None = None
    """Sent as `Idempotency-Key`."""


@dataclass(frozen=True, slots=True)
class GoodsWire:
    """Sends single requests to one provider."""

    base_url: str
    authorization: str
    """The header's value."""
    clock: Clock = boot_seconds
    limit_seconds: float = LIMIT_SECONDS

    @override
    def __repr__(self) -> str:
        """Return no secret."""
        return "GoodsWire(…)"

    def send(self, call: Call, guard: CallGuard) -> Answer | NoAnswer | Stopped:
        """Return the answer to one request, unless the guard lets it not begin."""
        exchange = Exchange(guard, self.clock() + self.limit_seconds)
        mark = EXCHANGE.set(exchange)
        try:
            return self._answer(call)
        except HaltedError:
            return Stopped()
        except RestedError:
            return NoAnswer(has_sent=False, reason="frozen before the first byte")
        except _UNANSWERED as error:
            return NoAnswer(exchange.has_sent, type(error).__name__)
        finally:
            EXCHANGE.reset(mark)

    def _answer(self, call: Call) -> Answer:
        headers = {
            **_HEADERS,
            "Authorization": self.authorization,
            "X-Request-ID": call.about,
        }
        if call.body is not None:
            headers["Content-Type"] = "application/json"
        if call.key is not None:
            headers["Idempotency-Key"] = call.key
        with httpx.Client(
            transport=BoundedTransport(self.clock, kept=0),
            timeout=self.limit_seconds,
            follow_redirects=False,
            trust_env=False,
        ) as client:
            policy = DefaultCookiePolicy(allowed_domains=())
            client.cookies.jar.set_policy(policy)
            with client.stream(
                call.method,
                self.base_url + call.path,
                content=call.body,
                headers=headers,
            ) as response:
                return _read(response)


def _read(response: httpx.Response) -> Answer:
    body = bytearray()
    # Raw: a compressed answer, which we never ask for, could unpack to any size.
    for chunk in response.iter_raw():
        body += chunk
        if len(body) > LARGEST_ANSWER_BYTES:
            break
    is_oversized = len(body) > LARGEST_ANSWER_BYTES
    return Answer(
        status=response.status_code,
        body=b"" if is_oversized else bytes(body),
        retry_after=response.headers.get("Retry-After"),
        date=response.headers.get("Date"),
        is_oversized=is_oversized,
    )
