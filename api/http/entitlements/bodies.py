"""What is asked for; the members of an operation are read by the operation's rules."""

from typing import Annotated, Any, Final

import msgspec

from domain.fulfillment.operations import BY_OPERATORS

_OPERATION: Final[dict[str, Any]] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["operation"],
    "properties": {
        "operation": {"enum": list(BY_OPERATORS)},
        "endsAt": {
            "type": "string",
            "format": "date-time",
            "description": "Of `extend`: later than the present end.",
        },
        "trafficBytes": {
            "type": ["integer", "null"],
            "minimum": 0,
            "description": "Of `set_limits`; null is unlimited.",
        },
        "deviceLimit": {
            "type": ["integer", "null"],
            "minimum": 1,
            "description": "Of `set_limits`; null is unlimited.",
        },
        "squadIds": {
            "type": "array",
            "items": {"type": "string", "format": "uuid"},
            "maxItems": 100,
            "description": "Of `set_squads`; none takes the user out of all of them.",
        },
    },
    "examples": [{"operation": "set_limits", "deviceLimit": 5}],
}

type OperationRequest = Annotated[
    dict[str, Any], msgspec.Meta(extra_json_schema=_OPERATION)
]
