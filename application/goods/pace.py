"""When the next purchase, and the next look, is due."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from domain.event import Instant
from domain.goods.resolution import BACKOFF_CAP, backoff
from domain.goods.state import GoodsDelivery

LONGEST_WAIT: Final = timedelta(days=1)
"""Of what a provider's Retry-After may ask for."""

UNCONFIGURED_WAIT: Final = timedelta(minutes=1)
"""Between two looks at a provider that cannot be used (requirements 9.1)."""

MOST_PATIENCE: Final = timedelta(days=1)
"""How long a provider is asked what became of a purchase before a person is."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How long to wait, from the base that the kind is set to."""

    base: timedelta = timedelta(seconds=60)

    def next_purchase(
        self, delivery: GoodsDelivery, now: Instant, retry_after: float | None = None
    ) -> Instant:
        """Return when the next purchase is due after one that was refused.

        The provider's own wish is never undercut.
        """
        asked = 0.0 if retry_after is None else retry_after
        # In this order, or NaN would come through both of them.
        asked = min(max(0.0, asked), LONGEST_WAIT.total_seconds())
        wait = backoff(delivery.purchases, self.base)
        return now + max(wait, timedelta(seconds=asked))

    def next_look(self, delivery: GoodsDelivery, now: Instant) -> Instant:
        """Return when the provider is asked again what became of a purchase.

        The longer it takes, the rarer, so that a day of it stays a page of history.
        """
        since = _open_since(delivery) or now
        return now + min(max(self.base, (now - since) / 2), BACKOFF_CAP)

    def is_out_of_patience(self, delivery: GoodsDelivery, now: Instant) -> bool:
        """Whether looking has gone on for so long that a person has to ask."""
        since = _open_since(delivery)
        return since is not None and now > since + MOST_PATIENCE


def _open_since(delivery: GoodsDelivery) -> Instant | None:
    """Return from when on it was asked what became of it; a restore begins anew."""
    instants = [delivery.deadline, delivery.restored_at]
    return max((each for each in instants if each is not None), default=None)
