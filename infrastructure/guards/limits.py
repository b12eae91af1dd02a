"""Limits of providers, set by people, and where each provider's money stands."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from application.errors import NotFoundError
from application.operators.taken import Kept, Telling
from application.providers.limiting import WHAT, Decide, MoneyLine
from domain.event import JsonObject
from domain.goods.spending import Limits
from domain.operators.events import ProviderLimited
from infrastructure.postgres.batch_store import Connections
from infrastructure.postgres.database import Connection
from infrastructure.postgres.heads.table import (
    maybe_instant,
    maybe_number,
    maybe_text,
    number,
    text,
    truth,
)
from infrastructure.recording.recorded import Turn, recorded

# Its provider's row is there for as long as it is limited; it is not changed.
_THERE: Final = """
SELECT FROM counterfoil.goods_providers
 WHERE tenant_id = %(tenant_id)s AND slug = %(provider)s
   FOR UPDATE
"""

_LOCK: Final = """
SELECT currency, spend_limit_minor, spend_window_seconds, low_balance_minor
  FROM counterfoil.goods_limits
 WHERE tenant_id = %(tenant_id)s AND provider = %(provider)s
   FOR UPDATE
"""

_WRITE: Final = """
INSERT INTO counterfoil.goods_limits
       (tenant_id, provider, currency, spend_limit_minor, spend_window_seconds,
        low_balance_minor)
VALUES (%(tenant_id)s, %(provider)s, %(currency)s, %(spend_limit_minor)s,
        %(spend_window_seconds)s, %(low_balance_minor)s)
    ON CONFLICT (tenant_id, provider) DO UPDATE
   SET currency = EXCLUDED.currency,
       spend_limit_minor = EXCLUDED.spend_limit_minor,
       spend_window_seconds = EXCLUDED.spend_window_seconds,
       low_balance_minor = EXCLUDED.low_balance_minor
"""

_LINES: Final = """
SELECT p.tenant_id, p.slug, l.currency, coalesce(l.spend_limit_minor, 0),
       coalesce(l.spend_window_seconds, 86400),
       CASE WHEN l.provider IS NULL THEN 0 ELSE counterfoil.spent_of(l) END,
       l.low_balance_minor, h.balance_minor, h.balance_currency, h.balance_at,
       h.low_since IS NOT NULL, coalesce(h.status, 'unknown'), coalesce(h.failures, 0),
       h.last_error_code, h.last_checked_at, h.closed_at, h.retry_at
  FROM counterfoil.goods_providers p
  LEFT JOIN counterfoil.goods_limits l
         ON l.tenant_id = p.tenant_id AND l.provider = p.slug
  LEFT JOIN counterfoil.goods_health h
         ON h.tenant_id = p.tenant_id AND h.provider = p.slug
 ORDER BY p.tenant_id, p.slug
"""


class PostgresLimitBook:
    """Keeps limits over pooled connections; see `LimitBook`."""

    def __init__(self, connections: Connections) -> None:
        """Take the connections to borrow."""
        self._connections = connections

    def change(
        self, tenant_id: str, slug: str, decide: Decide, telling: Telling
    ) -> Kept:
        """See `LimitBook.change`."""
        change = _Change(tenant_id, slug, decide, telling)
        return recorded(self._connections, change.lock, change.make)

    def lines(self) -> tuple[MoneyLine, ...]:
        """See `LimitBook.lines`."""
        with self._connections.connection() as connection:
            rows = connection.execute(_LINES).fetchall()
        return tuple(_line(row) for row in rows)


@dataclass(frozen=True, slots=True)
class _Change:
    tenant_id: str
    slug: str
    decide: Decide
    telling: Telling

    @property
    def named(self) -> dict[str, object]:
        return {"tenant_id": self.tenant_id, "provider": self.slug}

    def lock(self, connection: Connection) -> None:
        if not connection.execute(_THERE, self.named).rowcount:
            raise NotFoundError(WHAT, self.slug)

    def make(self, turn: Turn[Kept], _locked: None) -> Kept:
        connection = turn.connection
        before = _limits(connection.execute(_LOCK, self.named).fetchone())
        after = self.decide(before)
        event = None
        if after != before:
            connection.execute(_WRITE, self.named | _figures(after))
            event = ProviderLimited(
                provider=self.slug,
                currency=after.currency,
                spend_limit_minor=after.spend_limit_minor,
                spend_window_seconds=int(after.spend_window.total_seconds()),
                low_balance_minor=after.low_balance_minor,
            )
        events = self.telling.events(event, _figures(before), _figures(after))

        def kept(position: int) -> Kept:
            return Kept(is_new=event is not None, position=position)

        return turn.record(events, self.telling.meta, kept, self.tenant_id)


def _figures(limits: Limits | None) -> JsonObject:
    if limits is None:
        return {}
    return {
        "currency": limits.currency,
        "spend_limit_minor": limits.spend_limit_minor,
        "spend_window_seconds": int(limits.spend_window.total_seconds()),
        "low_balance_minor": limits.low_balance_minor,
    }


def _limits(row: tuple[object, ...] | None) -> Limits | None:
    if row is None:
        return None
    return Limits(
        currency=text(row[0]),
        spend_limit_minor=number(row[1]),
        spend_window=timedelta(seconds=number(row[2])),
        low_balance_minor=maybe_number(row[3]),
    )


def _line(row: tuple[object, ...]) -> MoneyLine:
    return MoneyLine(
        tenant_id=text(row[0]),
        provider=text(row[1]),
        currency=maybe_text(row[2]),
        spend_limit_minor=number(row[3]),
        spend_window_seconds=number(row[4]),
        spent_minor=number(row[5]),
        low_balance_minor=maybe_number(row[6]),
        balance_minor=maybe_number(row[7]),
        balance_currency=maybe_text(row[8]),
        balance_at=maybe_instant(row[9]),
        is_low=truth(row[10]),
        status=text(row[11]),
        failures=number(row[12]),
        last_error_code=maybe_text(row[13]),
        last_checked_at=maybe_instant(row[14]),
        closed_at=maybe_instant(row[15]),
        retry_at=maybe_instant(row[16]),
    )
