"""The course of one request: faults and holds around the gateway's own work.

arrive ─► hold before ─► slow ─► refused? ─► GATEWAY ─► hold after ─► late ─► told
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import Final

from infrastructure.simulators.gateway.dialect import Dialect
from infrastructure.simulators.gateway.faults import FaultPlan, FaultRule
from infrastructure.simulators.gateway.gateway import (
    Course,
    Gateway,
    Refused,
    Wanted,
)
from infrastructure.simulators.gateway.holds import Holds
from infrastructure.simulators.gateway.keyed import looked_up
from infrastructure.simulators.gateway.store import Arrival
from infrastructure.simulators.gateway.wire import Reply, Request, reply

BIG_BODY_BYTES: Final = 1024 * 1024 + 1
"""Just more than the 1 MiB that a careful client reads."""

type Wait = Callable[[float | None], bool]
"""Waits so many seconds, None: until the end; returns whether to go on after that."""


@dataclass(frozen=True, slots=True)
class Ending:
    """How a request ends on the wire."""

    reply: Reply | None
    """None: the connection is reset."""
    copies: int = 1


_RESET: Final = Ending(None)


@dataclass(frozen=True, slots=True)
class _Visit:
    """One request on its way."""

    dialect: Dialect
    action: str
    request: Request
    names: tuple[str, ...]
    fault: FaultRule | None
    seq: int
    wait: Wait

    @property
    def seconds(self) -> float | None:
        return self.fault.seconds if self.fault else None

    def has(self, name: str) -> bool:
        return self.fault is not None and self.fault.name == name


@dataclass(frozen=True, slots=True)
class Exchange:
    """Conducts requests; safe to call from many threads."""

    gateway: Gateway
    dialects: Sequence[Dialect]
    faults: FaultPlan
    holds: Holds

    def conduct(self, request: Request, wait: Wait) -> Ending:
        """Return how the request ends; the ledger holds it by then."""
        for dialect in self.dialects:
            action = dialect.action(request)
            if action is not None:
                return self._conduct(dialect, action, request, wait)
        unknown = reply(HTTPStatus.NOT_FOUND, {"error": "unknown_route"}, "not_found")
        arrival = Arrival(
            received_at=self.gateway.now(), dialect="", action="other",
            method=request.method, path=request.path, key=None, decision_key=None,
            recipient=None, fault=None,
        )  # fmt: skip
        self.gateway.tell(self.gateway.arrive(arrival), unknown.status, unknown.told)
        return Ending(unknown)

    def _conduct(
        self, dialect: Dialect, action: str, request: Request, wait: Wait
    ) -> Ending:
        arrival = _arrival(dialect, action, request, self.gateway.now())
        told = (arrival.decision_key, arrival.key, arrival.recipient)
        names = tuple(name for name in told if name) or ("",)
        fault = self.faults.choose(action, names)
        seq = self.gateway.arrive(replace(arrival, fault=fault.name if fault else None))
        visit = _Visit(dialect, action, request, names, fault, seq, wait)
        point = "before_lookup" if action == "lookup" else "before_accept"
        if not self.holds.pass_by(point, names, seq):
            return _RESET
        ending = self._ending(visit)
        if ending.reply is None:
            self.gateway.tell(seq, None, "nothing")
        else:
            self.gateway.tell(seq, ending.reply.status, ending.reply.told)
        return ending

    def _ending(self, visit: _Visit) -> Ending:
        dialect, fault = visit.dialect, visit.fault
        if visit.has("slow") and not visit.wait(visit.seconds):
            return _RESET
        if not dialect.is_authorized(visit.request):
            return Ending(_page(HTTPStatus.UNAUTHORIZED))
        refused = _refused(visit) if fault else None
        if refused is not None:
            return refused
        if visit.action != "purchase":
            answer = dialect.asked(visit.action, visit.request)
            return _spoiled(visit, answer)
        wanted = dialect.wanted(visit.request)
        if not isinstance(wanted, Wanted):
            return Ending(wanted)
        return self._bought(visit, wanted)

    def _bought(self, visit: _Visit, wanted: Wanted) -> Ending:
        result = self.gateway.buy(visit.seq, wanted, _course(visit.fault))
        if isinstance(result, Refused):
            return Ending(visit.dialect.refused(result))
        if not self.holds.pass_by("after_accept", visit.names, visit.seq):
            return _RESET
        if visit.has("late") and not visit.wait(visit.seconds):
            return _RESET
        return _spoiled(visit, visit.dialect.taken(result))


def _arrival(
    dialect: Dialect, action: str, request: Request, received_at: int
) -> Arrival:
    key = request.headers.get("idempotency-key") if dialect.name == "keyed" else None
    return Arrival(
        received_at=received_at,
        dialect=dialect.name,
        action=action,
        method=request.method,
        path=request.path,
        key=looked_up(request) if action == "lookup" else key,
        decision_key=request.headers.get("x-request-id"),
        recipient=_recipient(request) if action == "purchase" else None,
        fault=None,
    )


def _recipient(request: Request) -> str | None:
    try:
        document = request.document()
    except ValueError:
        return None
    recipient = document.get("recipient", document.get("username"))
    return recipient if isinstance(recipient, str) else None


def _course(fault: FaultRule | None) -> Course:
    match fault.name if fault else None:
        case "deliver_later":
            return Course("delivered", fault.seconds if fault else None)
        case "fail_later":
            return Course("failed", fault.seconds if fault else None)
        case "twice":
            return Course(copies=2)
        case _:
            return Course()


def _refused(visit: _Visit) -> Ending | None:
    """Return the end of a request that never comes to buying, None if it does."""
    dialect, fault = visit.dialect, visit.fault
    match fault.name if fault else None:
        case "cut_before":
            return _RESET
        case "error_before":
            return Ending(_page(fault.status if fault else 0))
        case "garbage_before":
            return Ending(_page(HTTPStatus.OK))
        case "limited":
            headers = (("Retry-After", str(fault.retry_after if fault else 1)),)
            page = _page(HTTPStatus.TOO_MANY_REQUESTS)
            return Ending(replace(page, headers=headers))
        case "unauthorized":
            return Ending(_page(HTTPStatus.UNAUTHORIZED))
        case "forbidden":
            return Ending(_page(HTTPStatus.FORBIDDEN))
        case "redirect":
            where = (("Location", "https://login.gateway.invalid/"),)
            return Ending(replace(_page(HTTPStatus.FOUND), headers=where))
        case "balance_out":
            return Ending(dialect.refused(Refused("insufficient_balance")))
        case "lie_delivered":
            return Ending(dialect.delivered(visit.request))
        case _:
            return None


def _spoiled(visit: _Visit, told: Reply) -> Ending:
    """Return how the gateway's own answer reaches the buyer."""
    dialect, fault = visit.dialect, visit.fault
    match fault.name if fault else None:
        case "cut_after":
            return _RESET
        case "error_after":
            return Ending(_page(fault.status if fault else 0))
        case "garbage_after":
            return Ending(_page(HTTPStatus.OK))
        case "big_body":
            padding = b" " * BIG_BODY_BYTES
            return Ending(replace(told, body=told.body + padding))
        case "lie_failed":
            return Ending(dialect.failed(visit.request))
        case "twice":
            return Ending(told, copies=2)
        case _:
            return Ending(told)


def _page(status: int) -> Reply:
    body = f"<html><body><h1>{int(status)}</h1></body></html>\r\n".encode()
    return Reply(int(status), body, f"http_{int(status)}", "text/html")
