"""The bodies of callbacks, by the adapter whose provider sends them; pure."""

from typing import Final

import msgspec

from application.callbacks.said import Said, Unsaid
from infrastructure.providers.goods.meaning import named

UNKNOWN_KIND: Final = "unknown_kind"
MALFORMED: Final = "malformed_body"

_KINDS: Final = {
    "purchase.delivered": "delivered",
    "purchase.accepted": "accepted",
    "purchase.failed": "failed",
}


class _Kind(msgspec.Struct, frozen=True):
    type: str


class _Data(msgspec.Struct, frozen=True):
    key: str
    reference: str | None = None


class _Body(msgspec.Struct, frozen=True):
    data: _Data


def read_callback(adapter: str, body: bytes) -> Said | Unsaid:
    """Return what a callback says; a blind gateway sends none that is known."""
    if adapter != "idempotent":
        return Unsaid(UNKNOWN_KIND, is_known=False)
    try:
        kind = _KINDS.get(msgspec.json.decode(body, type=_Kind).type)
        if kind is None:
            return Unsaid(UNKNOWN_KIND, is_known=False)
        data = msgspec.json.decode(body, type=_Body).data
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return Unsaid(MALFORMED, is_known=True)
    return Said(kind=kind, key=data.key, reference=named(data.reference))
