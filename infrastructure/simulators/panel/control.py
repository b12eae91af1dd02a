"""The simulator's own paths, `/_simulator/…`: faults, outages, holds, traffic, health.

They need no token, are never spoiled, and leave no row in the book.
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from http import HTTPStatus
from typing import Any, Final, cast
from urllib.parse import parse_qsl

from infrastructure.simulators.holds import DEFAULT_TIMEOUT_S
from infrastructure.simulators.panel.backing.obstacles import REDIS_STATES
from infrastructure.simulators.panel.faults import FaultError, FaultPlan
from infrastructure.simulators.panel.holds import Holds
from infrastructure.simulators.panel.panel import Panel
from infrastructure.simulators.panel.users.answers import (
    Answer,
    as_json,
    bad_request,
    unknown_route,
)
from infrastructure.simulators.panel.users.values import read_json
from infrastructure.simulators.panel.wire import Request

PREFIX: Final = "/_simulator/"


@dataclass(frozen=True, slots=True)
class Control:
    """Answers the simulator's own requests."""

    panel: Panel
    faults: FaultPlan
    holds: Holds

    def answer(self, request: Request) -> Answer:
        """Return what the asked switch says; nonsense is a 400."""
        actions: Mapping[tuple[str, str], Callable[[Mapping[str, Any]], object]] = {
            ("GET", "health"): self._health,
            ("GET", "faults"): lambda _: self.faults.described(),
            ("POST", "faults"): self._set_faults,
            ("POST", "outage"): self._set_outage,
            ("POST", "lock"): self._lock,
            ("POST", "unlock"): self._unlock,
            ("POST", "hold"): self._hold,
            ("GET", "held"): self._held,
            ("POST", "release"): self._release,
            ("POST", "traffic"): self._use_traffic,
        }
        action = actions.get((request.method, request.path.removeprefix(PREFIX)))
        if action is None:
            return unknown_route(request.method, request.target)
        try:
            return as_json(HTTPStatus.OK, action(_arguments(request)))
        except (FaultError, KeyError, TypeError, ValueError) as error:
            return bad_request(f"{type(error).__name__}: {error}")

    def _health(self, _: Mapping[str, Any]) -> object:
        return {"status": "ok", **self.panel.counts()}

    def _set_faults(self, arguments: Mapping[str, Any]) -> object:
        self.faults.configure(arguments)
        return self.faults.described()

    def _set_outage(self, arguments: Mapping[str, Any]) -> object:
        redis = arguments.get("redis", "up")
        if redis not in REDIS_STATES:
            msg = f"redis must be one of {', '.join(REDIS_STATES)}"
            raise ValueError(msg)
        down = bool(arguments.get("database_down", False))
        self.panel.set_outage(database_down=down, redis=redis)
        return {"database_down": down, "redis": redis}

    def _lock(self, arguments: Mapping[str, Any]) -> object:
        user_id = int(arguments["id"])
        self.panel.lock_row(user_id)
        return {"locked": user_id}

    def _unlock(self, arguments: Mapping[str, Any]) -> object:
        user_id = int(arguments["id"])
        self.panel.unlock_row(user_id)
        return {"unlocked": user_id}

    def _hold(self, arguments: Mapping[str, Any]) -> object:
        when = arguments["when"]
        if when not in ("before", "after"):
            msg = "when must be before or after"
            raise ValueError(msg)
        hold = self.holds.add(arguments["method"], arguments["path_prefix"], when)
        return {"hold": hold.number}

    def _held(self, arguments: Mapping[str, Any]) -> object:
        hold = self.holds.find(int(arguments["hold"]))
        try:
            held = hold.wait_arrived(
                float(arguments.get("timeout_s", DEFAULT_TIMEOUT_S))
            )
        except TimeoutError:
            return {"held": None}
        return {"held": asdict(held)}

    def _release(self, arguments: Mapping[str, Any]) -> object:
        hold = self.holds.find(int(arguments["hold"]))
        hold.release(drop=bool(arguments.get("drop", False)))
        return {"released": hold.number}

    def _use_traffic(self, arguments: Mapping[str, Any]) -> object:
        user_id, used = int(arguments["id"]), int(arguments["usedTrafficBytes"])
        if not self.panel.use_traffic(user_id, used):
            msg = f"no user {user_id}"
            raise ValueError(msg)
        return {"id": user_id, "usedTrafficBytes": used}


def _arguments(request: Request) -> Mapping[str, Any]:
    if request.method == "GET":
        return dict(parse_qsl(request.target.partition("?")[2]))
    document = read_json(request.body.decode() or "{}")
    if not isinstance(document, dict):
        msg = "expected a JSON object"
        raise TypeError(msg)
    return cast("Mapping[str, Any]", document)
