"""The port `Panel` over HTTP, for Remnawave 3.2 and 3.3."""

from datetime import UTC, datetime

from application.ports import (
    ADAPTER_ERROR,
    Access,
    CallGuard,
    LookAnswer,
    PanelAnswer,
    Unknown,
)
from infrastructure.errors import where
from infrastructure.providers.panel.conversation import Conversation, Now
from infrastructure.providers.panel.operations import carried_out, looked
from infrastructure.providers.panel.wire import PanelWire


def utc_now() -> datetime:
    """Return this machine's time; no schedule depends on it."""
    return datetime.now(UTC)


class HttpPanel:
    """A Remnawave panel; shared by all worker threads of a process."""

    def __init__(self, wire: PanelWire, *, now: Now = utc_now) -> None:
        """Take the wire, and the clock by which a date of Retry-After is read."""
        self._wire = wire
        self._now = now

    def read(self, access: Access, request_id: str, guard: CallGuard) -> LookAnswer:
        """See `Panel.read`."""
        try:
            return looked(self._conversation(access, request_id, guard, 0), access)
        except Exception as error:  # noqa: BLE001 - the provider's edge: never raises
            return Unknown(ADAPTER_ERROR, where(error))

    def carry_out(
        self,
        operation: str,
        access: Access,
        request_id: str,
        guard: CallGuard,
        *,
        requests_before: int = 0,
    ) -> PanelAnswer:
        """See `Panel.carry_out`."""
        conversation = self._conversation(access, request_id, guard, requests_before)
        try:
            return carried_out(conversation, operation, access)
        except Exception as error:  # noqa: BLE001 - the provider's edge: never raises
            return Unknown(ADAPTER_ERROR, where(error))

    def close(self) -> None:
        """Close the connections to the panel."""
        self._wire.close()

    def _conversation(
        self, access: Access, request_id: str, guard: CallGuard, requests_before: int
    ) -> Conversation:
        return Conversation(
            self._wire,
            access,
            request_id=request_id,
            guard=guard,
            now=self._now,
            requests_before=requests_before,
        )
