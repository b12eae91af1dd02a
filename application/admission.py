"""What a kind of somebody's own package must be before a worker runs it.

Types are promises that only a type checker keeps.  What breaks one here would stop
the claims or heartbeats of a whole process, so everything is looked at again.
"""

import re
from collections.abc import Iterator
from inspect import isasyncgenfunction, iscoroutinefunction, isgeneratorfunction
from typing import Final

import msgspec

from application.job_kinds import AnyKind, least_lease_seconds
from application.policies import (
    BULK,
    BULK_OPERATION,
    CRITICAL,
    FULFILLMENT,
    GOODS_DELIVERY,
    GOODS_RECONCILE,
    ORDER_COMPLETION,
    ORDER_FANOUT,
    ORDER_REFUND,
)
from domain.jobs.backoff import Backoff
from domain.jobs.verdict import Budget

PRODUCT_NAMES: Final = frozenset(
    {
        ORDER_FANOUT,
        ORDER_REFUND,
        ORDER_COMPLETION,
        FULFILLMENT,
        GOODS_DELIVERY,
        GOODS_RECONCILE,
        BULK_OPERATION,
        "periodic_task",
    }
)
"""Names of the product's own kinds, also of those that its design has promised: a
name is stored for ever, so one that is taken could never be given back."""

QUEUES: Final = (CRITICAL, "default", BULK)
"""What `counterfoil worker` claims."""

MOST_ATTEMPTS: Final = 1_000
"""As many as a single job may ask for."""

MOST_AT_ONCE: Final = 1_000
"""Jobs of one serial key; as many as a single job may allow."""

LONGEST_SECONDS: Final = 86_400
"""Nobody else takes the job of a killed worker before its lease has ended."""

# As `counterfoil.read_name` has it: what does not fit could never be enqueued.
_NAME: Final = re.compile(r"[a-z][a-z0-9_.-]{0,126}")


def refusal_of(kind: AnyKind) -> str | None:
    """Return which field of a kind is wrong and what would be right, or None."""
    return next((rule for is_kept, rule in _rules(kind) if not is_kept), None)


def _rules(kind: AnyKind) -> Iterator[tuple[bool, str]]:
    """Yield each rule with whether it is kept; a later one trusts in those before."""
    yield (
        _is_name(kind.name),
        'name: a letter a-z, then letters, digits, "_", "." and "-", at most 127',
    )
    yield kind.name not in PRODUCT_NAMES, "name: is one of the product's; take another"
    yield _is_struct(kind.args), "args: a class that is derived from msgspec.Struct"
    yield (
        _is_plain_function(kind.handler),
        "handler: a plain function; a coroutine or a generator is no Outcome",
    )
    yield kind.queue in QUEUES, f"queue: one of {', '.join(QUEUES)}"
    yield _has_attempts(kind.budget), "budget: a Budget of 1 to 1,000 attempts"
    yield (
        _is_whole(kind.budget.max_crashes, MOST_ATTEMPTS),
        "budget: max_crashes from 1 to 1,000",
    )
    yield _has_backoff(kind.budget), "budget: its backoff a Backoff of plain numbers"
    yield from _times(kind)
    yield (
        all(callable(key) for key in (kind.unique_key, kind.serial_key)),
        "unique_key and serial_key: functions of the arguments",
    )
    yield (
        _is_whole(kind.concurrency_limit, MOST_AT_ONCE),
        f"concurrency_limit: a whole number from 1 to {MOST_AT_ONCE:,}",
    )
    yield kind.record is None, "record: is for the product's kinds; leave it out"


def _is_name(name: object) -> bool:
    return isinstance(name, str) and _NAME.fullmatch(name) is not None


def _is_struct(args: object) -> bool:
    return isinstance(args, type) and issubclass(args, msgspec.Struct)


def _is_plain_function(handler: object) -> bool:
    called = getattr(handler, "__call__", None)  # noqa: B004 - its own, to be looked at
    return callable(handler) and not any(
        is_another(it) for it in (handler, called) for is_another in _OTHER_FUNCTIONS
    )


_OTHER_FUNCTIONS: Final = (iscoroutinefunction, isgeneratorfunction, isasyncgenfunction)


def _has_attempts(budget: object) -> bool:
    return isinstance(budget, Budget) and _is_whole(budget.max_attempts, MOST_ATTEMPTS)


def _has_backoff(budget: Budget) -> bool:
    """Whether a pause can be computed: by whoever rescues the jobs of others, too."""
    backoff = budget.backoff
    return (
        type(backoff) is Backoff
        and type(backoff.cap_exponent) is int
        and type(backoff.base_seconds) in {int, float}
        and type(backoff.jitter) in {int, float}
    )


def _times(kind: AnyKind) -> Iterator[tuple[bool, str]]:
    for name in ("lease_seconds", "call_seconds", "deadline_seconds"):
        yield (
            _is_whole(getattr(kind, name), LONGEST_SECONDS),
            f"{name}: a whole number from 1 to {LONGEST_SECONDS:,}",
        )
    least = least_lease_seconds(kind.call_seconds)
    yield kind.lease_seconds >= least, f"lease_seconds: must be at least {least}"
    yield (
        not kind.asks_provider or kind.deadline_seconds > kind.call_seconds,
        f"deadline_seconds: more than call_seconds ({kind.call_seconds}) for any call",
    )


def _is_whole(value: object, most: int) -> bool:
    return type(value) is int and 1 <= value <= most
