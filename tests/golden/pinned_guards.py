"""One event of every tag of the guards, as it was first written (see `pinned`)."""

from domain.event import Event
from domain.operators import events as operators

GUARDS: tuple[Event, ...] = (
    operators.RestoreDetected(
        episode=2,
        signs=("system_identifier", "journal"),
        is_planned=False,
        lost_purchases=3,
        position=1_041,
    ),
    operators.RestoreReleased(episode=2, is_override=True, left=1, position=1_060),
    operators.ProviderLimited(
        provider="stars",
        currency="RUB",
        spend_limit_minor=5_000_000,
        spend_window_seconds=86_400,
        low_balance_minor=200_000,
    ),
    operators.BalanceLow(
        provider="stars",
        currency="RUB",
        balance_minor=150_000,
        low_balance_minor=200_000,
    ),
)
