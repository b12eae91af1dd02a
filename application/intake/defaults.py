"""Requests with their defaults filled in, to be compared under one key.

Only that: what a request means is said by the front door alone.  Left out is what is no
part of it: whose it is, and whether a worker is woken.
"""

from collections.abc import Mapping
from typing import Final

from domain.event import JsonObject
from domain.members import is_list, is_object
from domain.order.lines import RESETTING

_APART: Final = frozenset({"tenant", "notify"})

_JOB: Final[JsonObject] = {
    "args": {},
    "queue": "default",
    "priority": 1,
    "runAt": None,
    "uniqueKey": None,
    "serialKey": None,
    "concurrencyLimit": None,
    "maxAttempts": None,
    "deadline": None,
    "correlationId": None,
}
_SETTLEMENT: Final[JsonObject] = {"slot": 1, "discountMinor": 0, "effectiveAt": None}
_REFUND: Final[JsonObject] = {"lines": None, "amountMinor": None}
_ACCESS: Final[JsonObject] = {
    "days": None,
    "endsAt": None,
    "graceSeconds": 0,
    "trafficBytes": None,
    "deviceLimit": None,
    "squadIds": [],
}
_GOODS: Final[JsonObject] = {"quantity": 1}
_PRODUCT: Final[JsonObject] = {"quantity": None, "months": None}


def job_asked(request: Mapping[str, object]) -> JsonObject:
    """Return a request for a job."""
    return _whole(request, _JOB)


def refund_asked(order_id: str, request: Mapping[str, object]) -> JsonObject:
    """Return a request for the refund of an order."""
    correlation: JsonObject = {
        "orderId": order_id,
        "correlationId": f"order:{order_id}",
    }
    return _whole(request, _REFUND | correlation)


def settlement_asked(request: Mapping[str, object]) -> JsonObject:
    """Return a settlement, its lines too."""
    correlation: JsonObject = {"correlationId": f"order:{request.get('orderId')}"}
    whole = _whole(request, _SETTLEMENT | correlation)
    lines, kind = request.get("lines"), request.get("kind")
    # An add-on's line says only what it changes: there are no defaults.
    if is_list(lines) and kind != "addon":
        whole["lines"] = [_line(line, kind) for line in lines]
    return whole


def _line(line: object, kind: object) -> object:
    if not is_object(line):
        return line
    match line.get("type"):
        case "access":
            resets: JsonObject = {
                "resetTraffic": isinstance(kind, str) and kind in RESETTING
            }
            return _ACCESS | resets | dict(line)
        case "goods":
            told, product = _GOODS | dict(line), line.get("product")
            if is_object(product):
                told["product"] = _PRODUCT | dict(product)
            return told
        case _:
            return line


def _whole(request: Mapping[str, object], defaults: JsonObject) -> JsonObject:
    told = {name: value for name, value in request.items() if name not in _APART}
    return defaults | told
