"""What the log tells: how many lines, failures of heartbeats, and who leads what."""

from collections.abc import Mapping
from typing import Final

from infrastructure.telemetry.levels import LEVELS, level_of
from infrastructure.telemetry.log import Value
from infrastructure.telemetry.metrics.families import Families

_HEARTBEATS: Final = {
    "heartbeat lost the database": "database_lost",
    "heartbeat failed": "failed",
    "process was frozen": "frozen",
}


class LineMetrics:
    """Listens to events."""

    def __init__(self, families: Families) -> None:
        """Declare what comes of them."""
        self._messages = families.counter(
            "log_messages_total", "Lines of the log.", "level", most=len(LEVELS)
        )
        for level in LEVELS:
            self._messages.add(level, n=0)
        self._heartbeats = families.counter(
            "heartbeat_failures_total",
            "Heartbeats that were not answered, and freezes of the process.",
            "cause",
            most=6,
        )
        for cause in _HEARTBEATS.values():
            self._heartbeats.add(cause, n=0)
        self._leads = families.gauge(
            "leader", "1: this process leads the role.", "role", most=30
        )
        self._changes = families.counter(
            "leader_changes_total",
            "Times that this process has begun to lead the role.",
            "role",
            most=30,
        )

    def heard(self, event: str, values: Mapping[str, Value]) -> None:
        """Count what an event is about."""
        self._messages.add(level_of(event))
        cause = _HEARTBEATS.get(event)
        if cause is not None:
            self._heartbeats.add(cause)
        elif event == "projection led":
            role = f"projection:{values['projection']}"
            self._leads.set(1, role)
            self._changes.add(role)
        elif event == "projection left":
            self._leads.set(0, f"projection:{values['projection']}")
