"""Callbacks as people see them: never what they say in full."""

from uuid import UUID

import msgspec

from application.callbacks.callback import Callback
from domain.event import Instant


class CallbackLine(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True
):
    """One callback."""

    id: UUID
    tenant_id: str
    provider: str
    event_id: str | None = None
    status: str
    code: str | None = None
    kind: str | None = None
    delivery_id: UUID | None = None
    duplicate_of: UUID | None = None
    received_at: Instant | None = None
    processed_at: Instant | None = None
    body_bytes: int
    body_sha256: str
    key: str | None = None
    """The id of the key that seals its body."""


def line_of(callback: Callback) -> CallbackLine:
    """Return a callback without its body."""
    return CallbackLine(
        id=callback.id,
        tenant_id=callback.tenant_id,
        provider=callback.provider,
        event_id=callback.event_id,
        status=callback.status,
        code=callback.code,
        kind=callback.kind,
        delivery_id=callback.delivery,
        duplicate_of=callback.duplicate_of,
        received_at=callback.received_at,
        processed_at=callback.processed_at,
        body_bytes=callback.body_bytes,
        body_sha256=callback.body_sha256.hex(),
        key=None if callback.sealed is None else callback.sealed.key,
    )
