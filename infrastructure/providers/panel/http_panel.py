"""The port `Panel` over HTTP, for Remnawave 3.2 and 3.3."""

import traceback
from datetime import UTC, datetime
from pathlib import Path

from application.ports import Access, CallGuard, PanelAnswer, Unknown
from infrastructure.providers.panel.creation import Creation, Now
from infrastructure.providers.panel.wire import PanelWire


def utc_now() -> datetime:
    """Return this machine's time; no schedule depends on it."""
    return datetime.now(UTC)


class HttpPanel:
    """A Remnawave panel; shared by all worker threads of a process."""

    def __init__(self, wire: PanelWire, *, now: Now = utc_now) -> None:
        """Take the wire, and the clock by which an expiry may be past."""
        self._wire = wire
        self._now = now

    def create(self, access: Access, request_id: str, guard: CallGuard) -> PanelAnswer:
        """See `Panel.create`."""
        try:
            return Creation(
                self._wire, access, request_id=request_id, guard=guard, now=self._now
            ).run()
        except Exception as error:  # noqa: BLE001 - the provider's edge: never raises
            return Unknown("adapter_error", _where(error))

    def close(self) -> None:
        """Close the connections to the panel."""
        self._wire.close()


def _where(error: Exception) -> str:
    """Return the kind and place of a fault of ours, without any value."""
    frames = traceback.extract_tb(error.__traceback__)
    place = (
        f" at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    )
    return f"{type(error).__name__}{place}"
