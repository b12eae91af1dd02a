"""Lines of goods that are not over, and how providers of goods are."""

from collections.abc import Iterator
from typing import Final

from infrastructure.sampling.gauge import Found, Look, Sampled, fetched
from projections.connections import Lend

MOST: Final = 10_000
MOST_DATED: Final = 500
"""Purchases of which nobody knows, whose age is looked up in the log."""

DELIVERIES: Final = Sampled(
    "deliveries",
    f"Lines of goods that are not over; {MOST} are counted.",
    ("state",),
)
AMBIGUOUS: Final = Sampled(
    "deliveries_ambiguous",
    "Purchases of which nobody knows whether they happened.",
    ("provider",),
)
OLDEST_AMBIGUOUS: Final = Sampled(
    "delivery_ambiguous_oldest_age_seconds",
    "Since nobody has known of the oldest of them.",
    ("provider",),
    merge=max,
)
SUSPECTS: Final = Sampled(
    "duplicate_submission_suspects",
    "Lines bought again by a person's word while an earlier purchase was open.",
    ("provider",),
)

_DELIVERIES: Final = """
WITH unfinished AS MATERIALIZED (
    SELECT stream_id, state, provider, standing, decision, is_doubtful
      FROM counterfoil.deliveries
     WHERE state NOT IN ('delivered', 'refunded', 'cancelled')
     ORDER BY stream_id
     LIMIT %(most)s
), dated AS (
    SELECT a.provider, min(e.recorded_at) AS since
      FROM (SELECT stream_id, provider, decision
              FROM unfinished
             WHERE standing = 'unknown'
             LIMIT %(dated)s) a
      JOIN counterfoil.events e
        ON e.stream_id = a.stream_id
       AND e.type = 'goods.purchase_unknown'
       AND (e.data->>'decision')::integer = a.decision
     GROUP BY 1
)
SELECT u.state, u.provider, count(*),
       count(*) FILTER (WHERE u.standing = 'unknown'),
       count(*) FILTER (WHERE u.is_doubtful),
       extract(epoch FROM counterfoil.now() - min(d.since))::float8
  FROM unfinished u
  LEFT JOIN dated d ON d.provider = u.provider
 GROUP BY 1, 2
 UNION ALL
(SELECT NULL, slug, 0, 0, 0, NULL::float8
   FROM counterfoil.goods_providers
  ORDER BY tenant_id, slug
  LIMIT 1000)
"""

_STATES: Final = ("pending", "submitted", "needs_review", "failed")


def deliveries(lend: Lend) -> Iterator[Found]:
    """Yield lines of goods that are not over, and what is in doubt by provider."""
    states = dict.fromkeys(_STATES, 0)
    doubts: dict[str, tuple[int, int, float]] = {}
    asked = {"most": MOST, "dated": MOST_DATED}
    for state, provider, n, unknown, doubtful, age in fetched(
        lend, _DELIVERIES, **asked
    ):
        if state is not None:
            states[state] += n
        before = doubts.get(provider, (0, 0, 0.0))
        oldest = max(before[2], age or 0.0)
        doubts[provider] = (before[0] + unknown, before[1] + doubtful, oldest)
    yield from ((DELIVERIES, (state,), n) for state, n in states.items())
    for provider, (unknown, doubtful, oldest) in doubts.items():
        yield AMBIGUOUS, (provider,), unknown
        yield OLDEST_AMBIGUOUS, (provider,), oldest
        yield SUSPECTS, (provider,), doubtful


BREAKER: Final = Sampled(
    "provider_circuit_open",
    "1: the provider is left alone for a while.",
    ("provider",),
    merge=max,
)
LOW: Final = Sampled(
    "provider_balance_low",
    "1: somebody was told that money runs out.",
    ("provider",),
    merge=max,
)

_HEALTH: Final = """
SELECT h.provider, bool_or(h.is_open), bool_or(h.is_low)
  FROM ((SELECT provider, closed_at IS NOT NULL AND retry_at > counterfoil.now(),
                low_since IS NOT NULL
           FROM counterfoil.goods_health
          ORDER BY tenant_id, provider
          LIMIT 1000)
         UNION ALL
        (SELECT slug, false, false
           FROM counterfoil.goods_providers
          ORDER BY tenant_id, slug
          LIMIT 1000)) AS h(provider, is_open, is_low)
 GROUP BY 1
"""


def providers(lend: Lend) -> Iterator[Found]:
    """Yield how providers of goods are."""
    for provider, is_open, is_low in fetched(lend, _HEALTH):
        yield BREAKER, (provider,), is_open
        yield LOW, (provider,), is_low


LOOKS: Final = (
    Look(deliveries, (DELIVERIES, AMBIGUOUS, OLDEST_AMBIGUOUS, SUSPECTS)),
    Look(providers, (BREAKER, LOW)),
)
