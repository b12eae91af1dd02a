"""API tokens: JWTs that the panel signed, the scopes they open, and how it refuses.

    none, no `Bearer`, not signed with our key, expired ─► 401
    signed by us, but deleted, or without the scope     ─► 403

A token's scopes are kept in the process for 30 minutes and in Redis for an hour. Where
neither knows them the database is asked, and while that is down a valid token is
answered 403 as well (remnawave.md 1, #4).
"""

import base64
import hashlib
import hmac
import json
import uuid
from collections.abc import Mapping
from typing import Any, Final, cast

from infrastructure.simulators.panel.backing.obstacles import (
    REDIS_REFUSED_MS,
    Obstacles,
    ObstructedError,
)
from infrastructure.simulators.panel.users.answers import (
    Answer,
    forbidden,
    internal_error,
    unauthorized,
)

SIGNING_KEY: Final = b"the simulated panel's key"
EVERYTHING: Final = frozenset({"*"})

_HEADER: Final = {"alg": "HS256", "typ": "JWT"}
_REMEMBERED_MS: Final = 30 * 60_000
_CACHED_MS: Final = 60 * 60_000


def signed(claims: Mapping[str, object], key: bytes = SIGNING_KEY) -> str:
    """Return the JWT of these claims, HS256."""
    head, body = _encoded(_json(_HEADER)), _encoded(_json(claims))
    return f"{head}.{body}.{_signature(head, body, key)}"


def _json(document: Mapping[str, object]) -> bytes:
    return json.dumps(document, separators=(",", ":")).encode()


def _encoded(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def _signature(head: str, body: str, key: bytes) -> str:
    return _encoded(hmac.digest(key, f"{head}.{body}".encode(), hashlib.sha256))


def _claims(text: str) -> Mapping[str, Any] | None:
    """Return what a token signed with our key says, None for any other text."""
    parts = text.split(".")
    if len(parts) != len(("head", "body", "signature")):
        return None
    head, body, signature = parts
    expected = _signature(head, body, SIGNING_KEY)
    if not hmac.compare_digest(expected.encode(), signature.encode()):
        return None
    # It is our signature, so what it signs is ours, and in our form.
    padded = body + "=" * (-len(body) % 4)
    return cast("Mapping[str, Any]", json.loads(base64.urlsafe_b64decode(padded)))


class Tokens:
    """The tokens that the panel knows. Not thread-safe: its owner holds a lock."""

    def __init__(self, unlimited: str) -> None:
        """Know one token from the start, of any text, for everything and for ever."""
        self._unlimited: Final = unlimited
        self._scopes: Final[dict[str, frozenset[str]]] = {unlimited: EVERYTHING}
        self._remembered_until: Final[dict[str, int]] = {}
        self._cached_until: Final[dict[str, int]] = {}

    def issue(self, scopes: frozenset[str], expires_at: int | None, now: int) -> str:
        """Return a new token; `expires_at` in ms, None: never."""
        claims: dict[str, object] = {"uuid": str(uuid.uuid4()), "role": "API"}
        claims["iat"] = now // 1000
        if expires_at is not None:
            claims["exp"] = expires_at // 1000
        token = signed(claims)
        self._scopes[token] = scopes
        return token

    def delete(self, token: str) -> None:
        """Forget a token; it is known to be ours by its signature alone from now on."""
        for known in (self._scopes, self._remembered_until, self._cached_until):
            known.pop(token, None)

    def refusal(
        self,
        headers: Mapping[str, str],
        sufficient: frozenset[str],
        now: int,
        obstacles: Obstacles,
        waited_ms: int,
    ) -> Answer | None:
        """Return the refusal of a request, None when its token has one of the scopes.

        No scope is needed where none is sufficient.

        Raises:
            ObstructedError: Redis is down, and the token is not remembered.
        """
        if not sufficient:
            return None
        scheme, _, given = headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not self._is_ours(given, now):
            return unauthorized()
        if self._remembered_until.get(given, now) <= now:
            if obstacles.redis == "refusing" and waited_ms >= REDIS_REFUSED_MS:
                return internal_error()
            if obstacles.redis != "up":
                raise ObstructedError
            if not self._recalled(given, now, obstacles):
                return forbidden()
        scopes = self._scopes.get(given, frozenset())
        return None if sufficient & scopes else forbidden()

    def _is_ours(self, given: str, now: int) -> bool:
        """Return whether we signed it, and it has not expired."""
        if given == self._unlimited:
            return True
        claims = _claims(given)
        if claims is None:
            return False
        expires = claims.get("exp")
        return not isinstance(expires, int) or now < expires * 1000

    def _recalled(self, given: str, now: int, obstacles: Obstacles) -> bool:
        """Return whether Redis or the database knows it; remember it if so."""
        if self._cached_until.get(given, now) <= now:
            if obstacles.database_down or given not in self._scopes:
                return False
            self._cached_until[given] = now + _CACHED_MS
        self._remembered_until[given] = now + _REMEMBERED_MS
        return True
