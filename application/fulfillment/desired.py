"""What makes an operation impossible to carry out, whatever the panel answers."""

from uuid import UUID

from domain.entitlement.state import Desired
from domain.fulfillment.aggregate import FulfillmentOperation
from domain.fulfillment.operations import KNOWN
from domain.order.lines import MOST_GRACE_SECONDS

INVALID = "invalid_desired_state"
UNSUPPORTED = "unsupported_operation"

_LARGEST_TRAFFIC = 2**53 - 1
"""The panel rounds larger numbers, so they would never be confirmed."""

_LARGEST_DEVICES = 2**31 - 1


def unusable(operation: FulfillmentOperation, pushed: Desired) -> str | None:
    """Return the code for which the operation must fail unasked, or None.

    What it was asked for with must be sound, and so must what would be pushed.
    """
    if operation.operation not in KNOWN:
        return UNSUPPORTED
    asked = operation.desired
    if asked is None or not _is_sound(asked) or not _is_sound(pushed):
        return INVALID
    return None


def _is_sound(desired: Desired) -> bool:
    traffic, devices = desired.traffic_bytes, desired.device_limit
    return (
        (traffic is None or 0 <= traffic <= _LARGEST_TRAFFIC)
        # 0 devices does not exist: the panel reads it as "no limit".
        and (devices is None or 0 < devices <= _LARGEST_DEVICES)
        and 0 <= desired.grace_seconds <= MOST_GRACE_SECONDS
        and all(_is_uuid(squad) for squad in desired.squad_ids)
    )


def _is_uuid(text: str) -> bool:
    try:
        return str(UUID(text)) == text.lower()
    except ValueError:
        return False
