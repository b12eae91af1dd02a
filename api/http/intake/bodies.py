"""What is asked for: the very requests of the front door, which alone reads them.

Here is only what the contract tells about their members; none is checked here.
"""

from typing import Annotated, Any, Final

import msgspec

_TEXT: Final[dict[str, Any]] = {"type": "string", "minLength": 1}
_FLAG: Final[dict[str, Any]] = {"type": "boolean"}
_MOMENT: Final[dict[str, Any]] = {"type": ["string", "null"], "format": "date-time"}
_MINOR: Final[dict[str, Any]] = {"type": "integer", "minimum": 0}


def _maybe(kind: str) -> dict[str, Any]:
    return {"type": [kind, "null"]}


_LINE: Final[dict[str, Any]] = {
    "type": "object",
    "required": ["line", "type"],
    "properties": {
        "line": {"type": "integer", "minimum": 1, "maximum": 32767},
        "type": {"enum": ["access", "goods"]},
    },
    "description": "See docs/settle.md and docs/settle-goods.md for its members.",
}
_EXAMPLE_LINE: Final = {"line": 1, "type": "access", "days": 30}

_SETTLEMENT: Final[dict[str, Any]] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["orderId", "customerId", "kind", "currency", "amountMinor"],
    "properties": {
        "orderId": _TEXT | {"maxLength": 128},
        "customerId": _TEXT | {"maxLength": 128},
        "kind": {
            "enum": [
                "purchase",
                "renewal",
                "extension",
                "upgrade",
                "downgrade",
                "topup",
                "addon",
            ]
        },
        "currency": {"type": "string", "pattern": "^[A-Z]{3}$"},
        "amountMinor": _MINOR,
        "discountMinor": _MINOR,
        "slot": {"type": "integer", "minimum": 1, "maximum": 32767},
        "effectiveAt": _MOMENT,
        "correlationId": _TEXT | {"maxLength": 128},
        "lines": {"type": "array", "items": _LINE},
        "notify": _FLAG,
        "tenant": _TEXT | {"description": "Your own; better left out."},
    },
    "examples": [
        {
            "orderId": "A-1001",
            "customerId": "anna",
            "kind": "purchase",
            "currency": "USD",
            "amountMinor": 1299,
            "lines": [_EXAMPLE_LINE],
        }
    ],
}

_REFUND: Final[dict[str, Any]] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["reason"],
    "properties": {
        "reason": _TEXT,
        "lines": _maybe("array") | {"items": {"type": "integer", "minimum": 1}},
        "amountMinor": _maybe("integer") | {"minimum": 0},
        "orderId": _TEXT | {"description": "That of the path; better left out."},
        "correlationId": _TEXT | {"maxLength": 128},
        "notify": _FLAG,
        "tenant": _TEXT | {"description": "Your own; better left out."},
    },
    "examples": [{"reason": "charged back"}],
}

_JOB: Final[dict[str, Any]] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["kind"],
    "properties": {
        "kind": {"type": "string", "pattern": "^[a-z][a-z0-9_.-]{0,126}$"},
        "args": {"type": "object"},
        "queue": {"type": "string", "pattern": "^[a-z][a-z0-9_.-]{0,126}$"},
        "priority": {"type": "integer", "minimum": 1, "maximum": 4},
        "runAt": _MOMENT,
        "uniqueKey": _maybe("string") | {"maxLength": 255},
        "serialKey": _maybe("string") | {"maxLength": 255},
        "concurrencyLimit": _maybe("integer") | {"minimum": 1, "maximum": 1000},
        "maxAttempts": _maybe("integer") | {"minimum": 1, "maximum": 1000},
        "deadline": _MOMENT,
        "correlationId": _maybe("string") | {"maxLength": 128},
        "notify": _FLAG,
        "tenant": _TEXT | {"description": "Your own; better left out."},
    },
    "examples": [{"kind": "mail", "args": {"to": "anna"}, "uniqueKey": "mail:anna"}],
}


def _told(schema: dict[str, Any]) -> msgspec.Meta:
    return msgspec.Meta(extra_json_schema=schema)


type Settlement = Annotated[dict[str, Any], _told(_SETTLEMENT)]
type Refund = Annotated[dict[str, Any], _told(_REFUND)]
type JobRequest = Annotated[dict[str, Any], _told(_JOB)]
