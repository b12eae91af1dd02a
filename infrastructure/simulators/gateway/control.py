"""The simulator's own paths, `/_simulator/…`: health, faults, holds, money, callbacks.

They need no token, are never spoiled, and leave no row in the ledger.

    GET  health       counts and the balance
    GET  faults       what is in force · POST the same form, absent parts are off
    POST fault        one more rule: {"name", "match"?, "times"?, "probability"?, …}
    POST hold         {"point", "match"?} -> {"hold": n}
    POST held         {"hold", "timeout_s"?} -> {"held": seq or null}
    POST release      {"hold", "drop"?}
    POST complete     {"name": key or reference, "state": "delivered" or "failed"}
    POST balance      {"minor"}
    POST callbacks    {"key"?} -> [{"headers", "body"}, …], signed at this moment
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final

from infrastructure.simulators.gateway.faults import FaultPlan, FaultRule
from infrastructure.simulators.gateway.gateway import Gateway
from infrastructure.simulators.gateway.holds import Holds
from infrastructure.simulators.gateway.wire import Reply, Request, reply
from infrastructure.simulators.holds import DEFAULT_TIMEOUT_S

PREFIX: Final = "/_simulator/"


@dataclass(frozen=True, slots=True)
class Control:
    """Answers the simulator's own requests."""

    gateway: Gateway
    faults: FaultPlan
    holds: Holds

    def answer(self, request: Request) -> Reply:
        """Return what the asked switch says; nonsense is a 400."""
        actions: Mapping[tuple[str, str], Callable[[Mapping[str, Any]], object]] = {
            ("GET", "health"): self._health,
            ("GET", "faults"): lambda _: self.faults.described(),
            ("POST", "faults"): self._set_faults,
            ("POST", "fault"): self._add_fault,
            ("POST", "hold"): self._hold,
            ("POST", "held"): self._held,
            ("POST", "release"): self._release,
            ("POST", "complete"): self._complete,
            ("POST", "balance"): self._balance,
            ("POST", "callbacks"): lambda it: self.gateway.callbacks(it.get("key")),
        }
        action = actions.get((request.method, request.path.removeprefix(PREFIX)))
        if action is None:
            return reply(HTTPStatus.NOT_FOUND, {"error": "no such switch"}, "control")
        try:
            document = action(request.document())
        except (KeyError, TypeError, ValueError) as error:
            problem = f"{type(error).__name__}: {error}"
            return reply(HTTPStatus.BAD_REQUEST, {"error": problem}, "control")
        return Reply(HTTPStatus.OK, json.dumps(document).encode(), "control")

    def _health(self, _: Mapping[str, Any]) -> object:
        counts = self.gateway.counts()
        return {"status": "ok", **counts, "balance": self.gateway.balance()}

    def _set_faults(self, arguments: Mapping[str, Any]) -> object:
        self.faults.configure(arguments)
        return self.faults.described()

    def _add_fault(self, arguments: Mapping[str, Any]) -> object:
        self.faults.add(FaultRule(**arguments))
        return {}

    def _hold(self, arguments: Mapping[str, Any]) -> object:
        match = str(arguments.get("match", ""))
        return {"hold": self.holds.add(arguments["point"], match).number}

    def _held(self, arguments: Mapping[str, Any]) -> object:
        hold = self.holds.find(int(arguments["hold"]))
        timeout_s = float(arguments.get("timeout_s", DEFAULT_TIMEOUT_S))
        try:
            return {"held": hold.wait_arrived(timeout_s)}
        except TimeoutError:
            return {"held": None}

    def _release(self, arguments: Mapping[str, Any]) -> object:
        hold = self.holds.find(int(arguments["hold"]))
        hold.release(drop=bool(arguments.get("drop", False)))
        return {"released": hold.number}

    def _complete(self, arguments: Mapping[str, Any]) -> object:
        name = str(arguments["name"])
        if not self.gateway.complete(name, arguments["state"]):
            msg = f"no accepted purchase {name}"
            raise ValueError(msg)
        return {"completed": name}

    def _balance(self, arguments: Mapping[str, Any]) -> object:
        self.gateway.set_balance(int(arguments["minor"]))
        return {"minor": self.gateway.balance()}
