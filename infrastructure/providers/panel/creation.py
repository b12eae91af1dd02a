"""`create`: find or make the panel user, and bring it to the desired state.

 id known ──► PATCH by id ── missing ──┐
 id unknown ───────────────────────────┴► GET by user name, by legacy name
                 found ► PATCH            none ► POST ── name taken ► GET ► PATCH
 an existing user then: reset-traffic when asked for, enable when DISABLED, GET

Every write carries the absolute state, so the next attempt may repeat it; inside one
attempt none is repeated.  (A PATCH that was refused for a past expiry wrote nothing,
and goes once more without it.)
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Literal
from urllib.parse import quote

import msgspec

from application.ports import (
    Access,
    CallGuard,
    Confirmed,
    Halted,
    Misconfigured,
    PanelAnswer,
    Rejected,
    Unavailable,
)
from infrastructure.providers.panel.answer import Call, Stopped
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
from infrastructure.providers.panel.user import PanelUser, Provision, Squads
from infrastructure.providers.panel.wire import PanelWire

MOST_REQUESTS: Final = 8
"""Bounds an attempt; the longest path of a user that exists has this many."""

CLOCK_MARGIN: Final = timedelta(minutes=15)
"""An expiry is left out only when it is past by more than clocks may differ; the
panel's own clock has the last word."""

USER_NOT_FOUND: Final = "remote_user_not_found"
EXPIRY_IN_PAST: Final = "expiry_in_past"
UNKNOWN_SQUADS: Final = "unknown_squads"
MISMATCH: Final = "remnawave_mismatch"

type Ended = Refusal | Halted
type Now = Callable[[], datetime]


@dataclass(frozen=True, slots=True)
class _Brought:
    """A user that the panel has written as asked."""

    user: PanelUser
    is_new: bool
    with_expiry: bool


class Creation:
    """One attempt to bring one user to its desired state."""

    def __init__(
        self,
        wire: PanelWire,
        access: Access,
        *,
        request_id: str,
        guard: CallGuard,
        now: Now,
    ) -> None:
        """Prepare the attempt; nothing is sent yet."""
        self._wire = wire
        self._access = access
        self._request_id = request_id
        self._guard = guard
        self._now = now
        self._requests = 0
        self._provision = Provision.of(access.desired)
        self._sends_expiry = self._provision.expire_at > now() - CLOCK_MARGIN
        """Whether updates say the expiry: never one that the panel calls past."""

    def run(self) -> PanelAnswer:
        """Return the panel's answer as a whole."""
        brought = self._bring()
        if not isinstance(brought, _Brought):
            return brought
        user = brought.user if brought.is_new else self._revive(brought.user)
        if not isinstance(user, PanelUser):
            return user
        differing = self._provision.missing_in(user, with_expiry=brought.with_expiry)
        if differing:
            detail = f"the panel shows another {', '.join(differing)} than was written"
            return Unavailable(MISMATCH, detail)
        return Confirmed(user.observed())

    def _bring(self) -> _Brought | Ended:
        known = self._access.panel_user_id
        if known is not None:
            updated = self._update(known)
            if updated is not Said.USER_MISSING:
                return updated
        names = (self._access.username, self._access.legacy_username)
        for name in names:
            found = Said.USER_MISSING if name is None else self._find(name)
            if found is not Said.USER_MISSING:
                return self._adopt(found)
        return self._create()

    def _adopt(self, found: PanelUser | Said | Ended) -> _Brought | Ended:
        if not isinstance(found, PanelUser):
            return _unexpected(found)
        updated = self._update(found.id)
        return _unexpected(updated) if isinstance(updated, Said) else updated

    def _create(self) -> _Brought | Ended:
        body = self._provision.body(with_expiry=True, username=self._access.username)
        made = self._user(self._writing("POST", body))
        if made is Said.USERNAME_TAKEN:
            # Somebody was faster, perhaps an earlier request of ours.
            return self._adopt(self._find(self._access.username))
        if isinstance(made, PanelUser):
            return _Brought(made, is_new=True, with_expiry=True)
        return _unexpected(made)

    def _update(self, user_id: int) -> _Brought | Ended | Literal[Said.USER_MISSING]:
        """Return the updated user, or that nobody has this id."""
        answer = self._patch(user_id)
        if answer is Said.EXPIRY_PAST and self._sends_expiry:
            self._sends_expiry = False
            answer = self._patch(user_id)
        if isinstance(answer, PanelUser):
            return _Brought(answer, is_new=False, with_expiry=self._sends_expiry)
        return answer if answer is Said.USER_MISSING else _unexpected(answer)

    def _patch(self, user_id: int) -> PanelUser | Said | Ended:
        body = self._provision.body(with_expiry=self._sends_expiry, id=user_id)
        return self._user(self._writing("PATCH", body))

    def _writing(self, method: str, body: bytes) -> Call:
        has_squads = bool(self._provision.squads)
        return Call(method, "/api/users", f"{method} users", body, has_squads)

    def _find(self, username: str) -> PanelUser | Said | Ended:
        path = f"/api/users/by-username/{quote(username, safe='')}"
        return self._user(Call("GET", path, "GET users/by-username"))

    def _revive(self, user: PanelUser) -> PanelUser | Ended:
        """Return the existing user after what only an existing one needs."""
        is_touched = False
        if self._access.desired.reset_traffic:
            answer = self._act(user, "reset-traffic")
            if not isinstance(answer, PanelUser):
                return _unexpected(answer)
            user, is_touched = answer, True
        if user.status == "DISABLED":
            answer = self._act(user, "enable")
            if not isinstance(answer, PanelUser) and answer is not Said.ALREADY_SO:
                return _unexpected(answer)
            is_touched = True
        if not is_touched:
            return user
        shown = self._user(Call("GET", f"/api/users/{user.id}", "GET users/{id}"))
        return shown if isinstance(shown, PanelUser) else _unexpected(shown)

    def _act(self, user: PanelUser, action: str) -> PanelUser | Said | Ended:
        path = f"/api/users/{user.id}/actions/{action}"
        return self._user(Call("POST", path, f"POST users/{{id}}/actions/{action}"))

    def _user(self, call: Call) -> PanelUser | Said | Ended:
        """Return the user that the panel shows after a call."""
        meaning = self._ask(call)
        if isinstance(meaning, SquadsDoubted):
            return self._check_squads(meaning)
        if not isinstance(meaning, Fine):
            return meaning
        user = _decoded(meaning, PanelUser)
        if user is None:
            return Misconfigured(CONFIGURATION, f"{call.name}: no user as we know it")
        if user.username not in {self._access.username, self._access.legacy_username}:
            # Ids start again in a panel that was set up anew.
            return Misconfigured(CONFIGURATION, f"{call.name}: another user's name")
        return user

    def _check_squads(self, doubted: SquadsDoubted) -> Ended:
        meaning = self._ask(Call("GET", "/api/internal-squads", "GET internal-squads"))
        if isinstance(meaning, Halted):
            return meaning
        known = _decoded(meaning, Squads) if isinstance(meaning, Fine) else None
        if known is None:
            return doubted.otherwise
        unknown = [it for it in self._provision.squads if it not in known.ids]
        if not unknown:
            return doubted.otherwise
        return Rejected(UNKNOWN_SQUADS, f"the panel has no squad {', '.join(unknown)}")

    def _ask(self, call: Call) -> Meaning | Halted:
        if self._requests >= MOST_REQUESTS:
            return Unavailable(UNAVAILABLE, f"{call.name}: would be one request more")
        number = self._requests + 1
        answer = self._wire.send(call, f"{self._request_id}.{number}", self._guard)
        if isinstance(answer, Stopped):
            return Halted(f"before {call.name}", self._requests)
        self._requests = number
        return classify(call, answer, self._now())


def _decoded[T](fine: Fine, kind: type[T]) -> T | None:
    try:
        return msgspec.json.decode(fine.response, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


def _unexpected(answer: PanelUser | Said | Ended) -> Ended:
    """Return what ends the attempt when the procedure has no answer to `answer`."""
    match answer:
        case Said.USER_MISSING:
            return Unavailable(USER_NOT_FOUND, "the user vanished between two requests")
        case Said.EXPIRY_PAST:
            return Rejected(EXPIRY_IN_PAST, "the panel refuses an expiry in the past")
        case Said.USERNAME_TAKEN | Said.ALREADY_SO | PanelUser():
            return Rejected("remnawave_http_400", "the panel refused without a reason")
        case _:
            return answer
