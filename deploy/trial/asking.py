"""One who asks the API, and asks again what was lost or put off."""

import http.client
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any, Final, Self

import httpx

from deploy.trial.world import TrialError

PATIENCE_SECONDS: Final = 120.0
LOST: Final = "lost"
"""Tallied: no answer came."""
PUT_OFF: Final = "put off"
"""Tallied: 429 or 503, which say when to come back."""
_AGAIN: Final = (http.client.TOO_MANY_REQUESTS, http.client.SERVICE_UNAVAILABLE)
_UNDER_WAY: Final = "idempotency_in_progress"
_PAUSE_SECONDS: Final = 0.2
_TIMEOUT_SECONDS: Final = 35.0


@dataclass(frozen=True, slots=True)
class Answer:
    """What the API said to one request."""

    asked: str
    status: int
    headers: Mapping[str, str]
    body: Any
    tries: int
    """How often it was asked until this was answered."""

    def require(self, status: int) -> Self:
        """Return it, if it has that status.

        Raises:
            TrialError: it has another one.
        """
        if self.status != status:
            msg = f"{self.asked}: {self.status}, not {status}: {self.body}"
            raise TrialError(msg)
        return self

    @property
    def code(self) -> str | None:
        """The problem's code, of a problem."""
        return None if self.body is None else self.body.get("code")

    @property
    def is_replayed(self) -> bool:
        """Whether it is marked as the answer of an earlier request."""
        return self.headers.get("idempotency-replayed") == "true"


@dataclass(slots=True)
class Caller:
    """Asks under one credential; threads may share it."""

    address: str
    headers: Mapping[str, str]
    tally: "Counter[str]" = field(default_factory=Counter[str])

    def ask(
        self,
        method: str,
        path: str,
        body: Mapping[str, object] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """Return an answer that is final.

        Raises:
            TrialError: there was none for as long as anybody has patience.
        """
        give_up_at = time.monotonic() + PATIENCE_SECONDS
        for tries in count(1):
            answer = self._once(method, path, body, headers or {})
            if answer is None:
                self.tally[LOST] += 1
            elif answer.status in _AGAIN:
                self.tally[PUT_OFF] += 1
            elif answer.code != _UNDER_WAY:
                return replace(answer, tries=tries)
            if time.monotonic() > give_up_at:
                break
            after = None if answer is None else answer.headers.get("retry-after")
            time.sleep(float(after) if after else _PAUSE_SECONDS)
        msg = f"{method} {path}: no final answer within {PATIENCE_SECONDS:.0f} s"
        raise TrialError(msg)

    def _once(
        self,
        method: str,
        path: str,
        body: Mapping[str, object] | None,
        headers: Mapping[str, str],
    ) -> Answer | None:
        """Return what is answered; None: nothing, and it may be done all the same."""
        try:
            response = httpx.request(
                method,
                self.address + path,
                json=body,
                headers={**self.headers, **headers},
                timeout=_TIMEOUT_SECONDS,
            )
        except httpx.TransportError:
            return None
        told = response.json() if response.content else None
        asked, headers = f"{method} {path}", response.headers
        return Answer(asked, response.status_code, headers, told, tries=1)


def bearer(token: str) -> dict[str, str]:
    """Return the header of a token."""
    return {"Authorization": f"Bearer {token}"}
