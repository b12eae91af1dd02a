"""One attempt's requests: numbered, bounded, classified, and their users decoded."""

import time
from collections.abc import Callable
from datetime import datetime
from typing import Final
from urllib.parse import quote

import msgspec

from application.ports import (
    Access,
    CallGuard,
    Halted,
    Misconfigured,
    Rejected,
    Unavailable,
)
from infrastructure.providers.answer import Answer, Stopped
from infrastructure.providers.panel.answer import Call
from infrastructure.providers.panel.classification import (
    CONFIGURATION,
    UNAVAILABLE,
    Fine,
    Meaning,
    Refusal,
    Said,
    SquadsDoubted,
    classify,
)
from infrastructure.providers.panel.user import PanelUser, Squads
from infrastructure.providers.panel.wire import PanelWire
from infrastructure.telemetry import measure
from infrastructure.telemetry.measures import ProviderAsked

MOST_REQUESTS: Final = 10
"""Bounds an attempt: `reconcile` of a user that exists looks with 3 and has 7 more."""

_PANEL: Final = "panel"

USER_NOT_FOUND: Final = "remote_user_not_found"
EXPIRY_IN_PAST: Final = "expiry_in_past"
UNKNOWN_SQUADS: Final = "unknown_squads"

type Ended = Refusal | Halted
type Told = PanelUser | Said | Ended
"""What a request about one user came to."""

type Now = Callable[[], datetime]


class Conversation:
    """What one attempt says to the panel about one user, request by request."""

    def __init__(  # noqa: PLR0913 - all of it stays the same for the whole attempt
        self,
        wire: PanelWire,
        access: Access,
        *,
        request_id: str,
        guard: CallGuard,
        now: Now,
        requests_before: int = 0,
    ) -> None:
        """Begin after `requests_before` requests of the same attempt."""
        self._wire = wire
        self._names = {access.username, access.legacy_username}
        self._request_id = request_id
        self._guard = guard
        self._now = now
        self._requests = requests_before

    @property
    def requests(self) -> int:
        """How many requests of the attempt have gone out."""
        return self._requests

    def by_id(self, user_id: int) -> Told:
        """Return the user that has the id."""
        return self._user(Call("GET", f"/api/users/{user_id}", "GET users/{id}"))

    def by_username(self, username: str) -> Told:
        """Return the user that has the name."""
        path = f"/api/users/by-username/{quote(username, safe='')}"
        return self._user(Call("GET", path, "GET users/by-username"))

    def act(self, user_id: int, action: str) -> Told:
        """Return the user after an action that needs no body."""
        path = f"/api/users/{user_id}/actions/{action}"
        return self._user(Call("POST", path, f"POST users/{{id}}/actions/{action}"))

    def write(self, method: str, body: bytes, squads: tuple[str, ...]) -> Told:
        """Return the user after a POST or PATCH whose body names these squads."""
        call = Call(method, "/api/users", f"{method} users", body, bool(squads))
        return self._user(call, squads)

    def _user(self, call: Call, squads: tuple[str, ...] = ()) -> Told:
        meaning = self._ask(call)
        if isinstance(meaning, SquadsDoubted):
            return self._check_squads(squads, meaning)
        if not isinstance(meaning, Fine):
            return meaning
        user = _decoded(meaning, PanelUser)
        if user is None:
            return Misconfigured(CONFIGURATION, f"{call.name}: no user as we know it")
        if user.username not in self._names:
            # Ids start again in a panel that was set up anew.
            return Misconfigured(CONFIGURATION, f"{call.name}: another user's name")
        return user

    def _check_squads(self, squads: tuple[str, ...], doubted: SquadsDoubted) -> Ended:
        meaning = self._ask(Call("GET", "/api/internal-squads", "GET internal-squads"))
        if isinstance(meaning, Halted):
            return meaning
        known = _decoded(meaning, Squads) if isinstance(meaning, Fine) else None
        if known is None:
            return doubted.otherwise
        unknown = [squad for squad in squads if squad not in known.ids]
        if not unknown:
            return doubted.otherwise
        return Rejected(UNKNOWN_SQUADS, f"the panel has no squad {', '.join(unknown)}")

    def _ask(self, call: Call) -> Meaning | Halted:
        if self._requests >= MOST_REQUESTS:
            return Unavailable(UNAVAILABLE, f"{call.name}: would be one request more")
        number = self._requests + 1
        began_at = time.monotonic()
        answer = self._wire.send(call, f"{self._request_id}.{number}", self._guard)
        if isinstance(answer, Stopped):
            return Halted(f"before {call.name}", self._requests)
        outcome = "unanswered"
        if isinstance(answer, Answer):
            outcome = f"{answer.status // 100}xx"
        seconds = time.monotonic() - began_at
        measure(ProviderAsked(_PANEL, call.name, outcome, seconds))
        self._requests = number
        return classify(call, answer, self._now())


def _decoded[T](fine: Fine, kind: type[T]) -> T | None:
    try:
        return msgspec.json.decode(fine.response, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


def unexpected(told: Told) -> Ended:
    """Return what ends the attempt when it cannot go on after `told`."""
    match told:
        case Said.USER_MISSING:
            return Unavailable(USER_NOT_FOUND, "the user vanished between two requests")
        case Said.EXPIRY_PAST:
            return Rejected(EXPIRY_IN_PAST, "the panel refuses an expiry in the past")
        case Said.USERNAME_TAKEN | Said.ALREADY_SO | PanelUser():
            return Rejected("remnawave_http_400", "the panel refused without a reason")
        case _:
            return told
