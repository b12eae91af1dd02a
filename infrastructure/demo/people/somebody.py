"""Somebody with a token of the panel, who changes users past Counterfoil."""

import urllib.error
import urllib.request
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import msgspec

from infrastructure.demo.diary import Diary, Edit, Told
from infrastructure.demo.people.script import SQUADS
from infrastructure.demo.processes import DemoProcessError
from infrastructure.simulators.panel.book import open_book

_TRIES: Final = 40
"""The panel fails this somebody too."""
_PATIENCE_S: Final = 2

_APPLIED: Final = "SELECT seq FROM requests WHERE request_id = ? AND applied = 1"

_FAR_AWAY: Final = "2099-12-31T00:00:00.000Z"
_LESS: Final = 2**30
_FEWER: Final = 2


@dataclass(frozen=True, slots=True)
class _Hand:
    method: str
    path: str
    body: Mapping[str, object]
    kind: str
    shows: Told


def _hand(what: str, user_id: int) -> _Hand:
    one = f"/api/users/{user_id}"
    match what:
        case "enabled":
            return _Hand("POST", f"{one}/actions/enable", {}, "status", "active")
        case "disabled":
            return _Hand("POST", f"{one}/actions/disable", {}, "status", "disabled")
        case "missing_remote":
            return _Hand("DELETE", one, {}, what, {"exists": False})
        case "squads":
            squad = SQUADS[-1]
            body = {"id": user_id, "activeInternalSquads": [squad]}
            return _Hand("PATCH", "/api/users", body, what, (squad,))
        case _:
            member, value = _COLUMNS[what]
            body = {"id": user_id, member: value}
            return _Hand("PATCH", "/api/users", body, what, {"value": value})


_COLUMNS: Final[Mapping[str, tuple[str, str | int]]] = {
    "expiry": ("expireAt", _FAR_AWAY),
    "traffic": ("trafficLimitBytes", _LESS),
    "device_limit": ("hwidDeviceLimit", _FEWER),
}


@dataclass(frozen=True, slots=True)
class Somebody:
    """Writes into the diary what was done; the panel's book says whether it was."""

    url: str
    token: str
    book: Path
    diary: Diary

    def tamper(self, customer: str, username: str, what: str) -> None:
        """Change one thing of a user, however often that fails.

        Raises:
            DemoProcessError: the panel did not do it.
        """
        hand = _hand(what, self._user_id(username))
        for number in range(1, _TRIES + 1):
            request_id = f"somebody.{what}.{customer}.{number}"
            self.diary.tried.add(request_id)
            self._send(hand.method, hand.path, hand.body, request_id)
            if self._is_applied(request_id):
                self.diary.edits.append(Edit(customer, hand.kind, hand.shows))
                return
        msg = f"the panel did not let somebody change {what} of customer {customer}"
        raise DemoProcessError(msg)

    def use_traffic(self, username: str, used_bytes: int) -> None:
        """Let the customer use traffic."""
        used = {"id": self._user_id(username), "usedTrafficBytes": used_bytes}
        self._send("POST", "/_simulator/traffic", used, "somebody")

    def _user_id(self, username: str) -> int:
        found = self._looked_up("SELECT id FROM users WHERE username = ?", username)
        if found is None:
            msg = f"the panel has no user {username}"
            raise DemoProcessError(msg)
        return found

    def _is_applied(self, request_id: str) -> bool:
        return self._looked_up(_APPLIED, request_id) is not None

    def _looked_up(self, statement: str, key: str) -> int | None:
        with closing(open_book(self.book)) as book:
            row = book.execute(statement, (key,)).fetchone()
        return None if row is None else int(row[0])

    def _send(
        self, method: str, path: str, body: Mapping[str, object], request_id: str
    ) -> None:
        if urlsplit(self.url).scheme != "http":
            return
        request = urllib.request.Request(  # noqa: S310 - http only, see above
            self.url + path,
            method=method,
            data=msgspec.json.encode(body),
            headers={
                "Authorization": f"Bearer {self.token}",
                "Content-Type": "application/json",
                "X-Forwarded-For": "127.0.0.1",
                "X-Forwarded-Proto": "https",
                "X-Request-ID": request_id,
            },
        )
        try:
            with urllib.request.urlopen(request, timeout=_PATIENCE_S):  # noqa: S310
                pass
        except (urllib.error.URLError, OSError, HTTPException):
            # Whether it was done, the book knows.
            return
