"""How well a provider is, by its answers, and when nothing is bought of it for now.

              failure, up to the last one allowed          cool-down over
 unknown ─┐  ┌────┐              ┌──────────► closed ──────────────────────► half open
          ▼  ▼    │ last failure │              ▲                                │
         healthy, failing ───────┘              └──────────── failure ───────────┤
             ▲                                     (twice the cool-down)         │
             └─────────────────────────────────────────────────── success ───────┘

"Closed" is the gate before the provider: purchases that would fail wait, and none of
the six that a delivery has is burnt.  When the cool-down is over one purchase is let
through to try, and the others go on waiting for its answer.
"""

from datetime import timedelta
from enum import StrEnum
from typing import Final

import msgspec
from msgspec.structs import replace

from domain.event import Instant

LAST_FAILURE: Final = 5
"""The failure in a row that closes the gate."""

COOL_DOWN: Final = timedelta(minutes=1)


class Patience(msgspec.Struct, frozen=True):
    """How long one that is ill is left alone; all by the first cool-down."""

    cool_down: timedelta = COOL_DOWN

    @property
    def longest(self) -> timedelta:
        """No cool-down is longer: half an hour."""
        return 30 * self.cool_down

    @property
    def probe_for(self) -> timedelta:
        """How long the others wait for the one that tries: a lease, 150 s."""
        return 5 * self.cool_down / 2


PATIENCE: Final = Patience()


class Sign(StrEnum):
    """What one answer says about whoever gave it."""

    SUCCESS = "success"
    """It works: it bought, or refused for a reason that lies with what was asked."""
    FAILURE = "failure"
    """It is ill, out of money, or cannot be understood."""
    NOTHING = "nothing"
    """It was not asked, or asked to be asked less often."""


class Status(StrEnum):
    """How a provider is; the stored words."""

    UNKNOWN = "unknown"
    HEALTHY = "healthy"
    FAILING = "failing"


class Health(msgspec.Struct, frozen=True, kw_only=True):
    """What is remembered of one provider's answers."""

    status: Status = Status.UNKNOWN
    failures: int = 0
    """In a row; those of the tries between cool-downs, too."""
    last_error_code: str | None = None
    last_checked_at: Instant | None = None
    closed_at: Instant | None = None
    """Since when its gate is closed, half open or not; None: it is open."""
    retry_at: Instant | None = None
    """When the cool-down is over."""
    probe_until: Instant | None = None
    """Until when the others wait for the one that tries."""


def judged(
    health: Health,
    sign: Sign,
    code: str | None,
    now: Instant,
    patience: Patience = PATIENCE,
) -> Health:
    """Return the health after an answer."""
    match sign:
        case Sign.NOTHING:
            return health
        case Sign.SUCCESS:
            return Health(status=Status.HEALTHY, last_checked_at=now)
        case Sign.FAILURE:
            return _failed(health, code, now, patience)


def _failed(
    health: Health, code: str | None, now: Instant, patience: Patience
) -> Health:
    failing = replace(
        health,
        status=Status.FAILING,
        failures=health.failures + 1,
        last_error_code=code,
        last_checked_at=now,
    )
    if health.retry_at is not None and now < health.retry_at:
        return failing  # an answer to what was asked before the gate was closed
    if failing.failures < LAST_FAILURE:
        return failing
    return replace(
        failing,
        closed_at=health.closed_at or now,
        retry_at=now + cool_down(health, patience),
        probe_until=None,
    )


def cool_down(health: Health, patience: Patience) -> timedelta:
    """Return how long the gate stays closed after the next failure."""
    if health.closed_at is None or health.retry_at is None:
        return patience.cool_down
    # Twice as long as it was closed until the last try could begin.
    twice = 2 * (health.retry_at - health.closed_at)
    return min(max(twice, patience.cool_down), patience.longest)


def is_closed(health: Health, now: Instant) -> bool:
    """Whether nothing at all may be tried."""
    return health.retry_at is not None and now < health.retry_at


def may_probe(health: Health, now: Instant) -> bool:
    """Whether the cool-down is over, and nobody tries already."""
    if health.retry_at is None or now < health.retry_at:
        return False
    return health.probe_until is None or now >= health.probe_until
