"""Requests out, whole answers in: one client, bounded in time and in bytes.

No redirects (they would carry the token elsewhere), no proxies or certificates from
the environment, no cookies, no conditional requests, no compression.
"""

from http.cookiejar import DefaultCookiePolicy
from typing import Final
from urllib.parse import urlsplit, urlunsplit

import httpx

from application.ports import CallGuard
from infrastructure.errors import ConfigurationError
from infrastructure.providers.answer import Answer, NoAnswer, Stopped
from infrastructure.providers.connection import (
    EXCHANGE,
    Clock,
    Exchange,
    HaltedError,
    RestedError,
    boot_seconds,
)
from infrastructure.providers.panel.answer import Call
from infrastructure.providers.panel.classification import FORWARDED_HINT
from infrastructure.providers.transport import LARGEST_ANSWER_BYTES, BoundedTransport
from infrastructure.settings import LONGEST_CALL_SECONDS

_CONNECTIONS: Final = 100
"""More than a process has workers, so that none waits for another's connection."""

_FRESH_CONNECTIONS: Final = 3
"""How often one request looks for a connection that has not rested too long."""

_HEADERS: Final = {
    "Accept": "application/json",
    "Accept-Encoding": "identity",
    "User-Agent": "counterfoil",
    # Without both, a production panel closes the connection with 0 bytes.
    "X-Forwarded-For": "127.0.0.1",
    "X-Forwarded-Proto": "https",
}


class PanelWire:
    """Sends one request at a time for each thread; shared by all of them."""

    def __init__(
        self,
        base_url: str,
        token: str,
        *,
        clock: Clock = boot_seconds,
        limit_seconds: float = LONGEST_CALL_SECONDS,
    ) -> None:
        """Take the panel's address and token.

        Raises:
            ConfigurationError: the address is not absolute http(s), or the token
                cannot be a header.
        """
        self._base = _base(base_url)
        self._clock = clock
        self._limit_seconds = limit_seconds
        self._client = httpx.Client(
            headers={**_HEADERS, "Authorization": f"Bearer {_visible(token)}"},
            transport=BoundedTransport(clock, kept=_CONNECTIONS),
            timeout=limit_seconds,
            follow_redirects=False,
            trust_env=False,
        )
        self._client.cookies.jar.set_policy(DefaultCookiePolicy(allowed_domains=()))

    def send(
        self, call: Call, request_id: str, guard: CallGuard
    ) -> Answer | NoAnswer | Stopped:
        """Return the answer to one request, unless the guard lets none begin."""
        for _ in range(_FRESH_CONNECTIONS):
            if not guard.may_begin():
                return Stopped()
            exchange = Exchange(guard, self._clock() + self._limit_seconds)
            mark = EXCHANGE.set(exchange)
            try:
                return self._answer(call, request_id)
            except RestedError:
                continue
            except HaltedError:
                return Stopped()
            except httpx.TransportError as error:
                return NoAnswer(exchange.has_sent, _reason(error))
            finally:
                EXCHANGE.reset(mark)
        return NoAnswer(has_sent=False, reason="no fresh connection")

    def close(self) -> None:
        """Close all connections."""
        self._client.close()

    def _answer(self, call: Call, request_id: str) -> Answer:
        headers = {"X-Request-ID": request_id}
        if call.body is not None:
            headers["Content-Type"] = "application/json"
        with self._client.stream(
            call.method, self._base + call.path, content=call.body, headers=headers
        ) as response:
            body = bytearray()
            # Raw: a compressed answer, which we never ask for, could unpack to any
            # size.
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


def _reason(error: httpx.TransportError) -> str:
    """Return what went wrong, without the address that the error may quote."""
    name = type(error).__name__
    if "without sending a response" in str(error):
        return f"{name}: closed with 0 bytes ({FORWARDED_HINT})"
    return name


def _base(url: str) -> str:
    try:
        parts = urlsplit(url)
        is_usable = parts.scheme in {"http", "https"} and bool(parts.hostname)
        has_port = parts.port is None or parts.port > 0
    except ValueError:
        parts, is_usable, has_port = urlsplit(""), False, False
    if not is_usable or not has_port or parts.username is not None:
        setting = "COUNTERFOIL_REMNAWAVE_URL"
        problem = "is no absolute http or https address without credentials"
        raise ConfigurationError(setting, problem, "write https://panel.example.org")
    return urlunsplit((parts.scheme, parts.netloc, parts.path.rstrip("/"), "", ""))


def _visible(token: str) -> str:
    if not token or not token.isascii() or not token.isprintable() or " " in token:
        setting = "COUNTERFOIL_REMNAWAVE_TOKEN"
        problem = "holds characters that no header can carry, or none"
        raise ConfigurationError(setting, problem, "copy the panel's API token")
    return token
