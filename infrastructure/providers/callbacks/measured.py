"""Callbacks are counted as they arrive, by what became of them."""

from collections.abc import Mapping
from typing import Final, override

from application.callbacks.callback import REJECTED
from application.callbacks.record import UNKNOWN_PROVIDER, Receipt, RecordCallback
from infrastructure.telemetry import measure
from infrastructure.telemetry.measures import CallbackTaken

_NOBODY: Final = "none"
"""Of whom nobody here has heard: whatever a stranger writes is no label."""


class MeasuredRecord(RecordCallback):
    """Takes callbacks; those that people replay have arrived before."""

    __slots__ = ()

    @override
    def __call__(
        self, tenant_id: str, slug: str, headers: Mapping[str, str], body: bytes
    ) -> Receipt:
        """See `RecordCallback`."""
        receipt = super().__call__(tenant_id, slug, headers, body)
        rejected = receipt.code if receipt.status == REJECTED else None
        provider = _NOBODY if rejected == UNKNOWN_PROVIDER else slug
        measure(CallbackTaken(provider, rejected or receipt.status))
        return receipt
