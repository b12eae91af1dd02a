"""The course of one request: delays, faults and holds around the panel's own work.

choose fault ─► latency ─► refused? ─► hang or hold before ─► PANEL ─► hang or
hold after ─► delivery (whole, spoiled, closed, reset)
"""

from dataclasses import dataclass
from functools import partial
from typing import Final, Protocol

from infrastructure.simulators.panel.faults import FaultPlan, FaultRule
from infrastructure.simulators.panel.holds import HeldRequest, Hold, Holds, Passing
from infrastructure.simulators.panel.panel import Panel
from infrastructure.simulators.panel.spoiling import refused, spoiled
from infrastructure.simulators.panel.visit import Visit
from infrastructure.simulators.panel.wire import CLOSED, Delivery, Request

_MS_PER_S: Final = 1000


class Line(Protocol):
    """The connection that a request came by."""

    def linger(self, seconds: float | None) -> bool:
        """Wait, and return whether to go on.

        A number of seconds is waited out even when the client has gone; None lasts
        until it has gone, and never goes on. Neither does anything once the server
        stops.
        """
        ...


@dataclass(frozen=True, slots=True)
class Exchange:
    """Conducts requests; safe to call from many threads."""

    panel: Panel
    faults: FaultPlan
    holds: Holds

    def conduct(self, request: Request, line: Line) -> tuple[Visit, Delivery]:
        """Return how the request ends; its row is committed."""
        visit = Visit(request, self.panel.now())
        fault = self.faults.choose(request.method, request.target)
        refusal = refused(fault, request, visit.received_at) if fault else None
        if fault and fault.name == "database_error" and refusal is None:
            fault = None  # the route needs no database
        visit.fault = fault.name if fault else None
        delay_ms = self.faults.latency_ms
        if fault and fault.name == "latency":
            delay_ms += fault.ms
        if delay_ms:
            line.linger(delay_ms / _MS_PER_S)
        if refusal is not None:
            self.panel.refuse(visit, refusal)
            return visit, refusal
        return visit, self._delivery(visit, fault, line)

    def sent(self, visit: Visit, *, whole: bool) -> None:
        """Make the book say whether a whole message was handed to the client."""
        self.panel.correct_answered(visit, answered=whole)

    def _delivery(self, visit: Visit, fault: FaultRule | None, line: Line) -> Delivery:
        request = visit.request
        hang = fault if fault and fault.name == "hang_before" else None
        hold = self.holds.take(Passing(request.method, request.target, "before"))
        if hang or hold:
            visit.late = True
            self.panel.arrive(visit)
            if not _goes_on(visit, hang, hold, line):
                return CLOSED
        hang = fault if fault and fault.name == "hang_after" else None
        hold = self.holds.take(Passing(request.method, request.target, "after"))
        visit.late = visit.late or bool(hang or hold)
        delivery = self.panel.carry_out(visit, partial(spoiled, fault))
        return delivery if _goes_on(visit, hang, hold, line) else CLOSED


def _goes_on(
    visit: Visit, hang: FaultRule | None, hold: Hold | None, line: Line
) -> bool:
    if hang is not None and not line.linger(hang.seconds):
        return False
    if hold is None:
        return True
    request = visit.request
    held = HeldRequest(
        seq=visit.seq or 0,
        method=request.method,
        path=request.target,
        request_id=request.headers.get("x-request-id"),
    )
    return hold.stand(held)
