"""Messages by topic, minute, hour and day: nearly all are gone, a few an hour wait."""

from collections.abc import Mapping
from typing import Final

from domain.outbox import TOPICS

_TOPIC: Final = f"(ARRAY{sorted(TOPICS)})[1 + n % {len(TOPICS)}]"
_STEP: Final = f"n / {len(TOPICS)}"
_WAITS: Final = {
    "minute": f"{_STEP} % 60 = 59",
    "hour": "true",
    "day": f"{_STEP} = 1",
    "ever": "true",
}
"""Where some do: in each hour, of yesterday, ever."""


def recorded(span: str) -> Mapping[str, str]:
    """Return the columns of what was recorded in each step of a span."""
    return _key(span) | {
        "recorded": "100",
        "first_position": "n * 100",
        "last_position": "n * 100 + 99",
        "first_at": _begins_at(span),
        "last_at": _begins_at(span),
    }


def gone(span: str) -> Mapping[str, str]:
    """Return the columns of what is gone of that."""
    return _key(span) | {
        "gone": f"CASE WHEN {_WAITS[span]} THEN 0 ELSE 100 END",
        "longest_wait": "'1 second'",
    }


def _key(span: str) -> dict[str, str]:
    return {
        "span": f"'{span}'",
        "topic": _TOPIC,
        "begins_at": _begins_at(span),
        "tenant_id": "'default'",
        "block": "0",
    }


def _begins_at(span: str) -> str:
    if span == "ever":
        return "'epoch'::timestamptz"
    # Asked once: in another minute the same step would be another one.
    back = f"{_STEP} * interval '1 {span}'"
    return f"date_trunc('{span}', (SELECT counterfoil.now()), 'UTC') - {back}"
