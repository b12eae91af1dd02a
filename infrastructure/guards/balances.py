"""Asks providers now and then how much money they hold, and tells a person once.

One process asks for the whole installation: whoever notes first that it sets out to.
An answer is also a sign of health: a provider that tells its balance needs no purchase
to be tried again.
"""

import threading
import time
from typing import Final

import psycopg

from application.goods.port import Balance, GoodsProvider, Providers, Unconfigured
from domain.event import Actor, Meta
from domain.goods.health import Sign
from domain.goods.spending import Limits, is_low
from domain.operators.events import BalanceLow
from infrastructure.errors import DatabaseUnavailableError
from infrastructure.guards.health import Told, judge, tell_gate
from infrastructure.ids import new_id
from infrastructure.postgres.batch_store import Connections
from infrastructure.postgres.database import Connection, transaction
from infrastructure.postgres.figures.written import tell_remarks
from infrastructure.postgres.heads.table import maybe_number, text, truth
from infrastructure.recording.remarks import remark
from infrastructure.telemetry import emit

EVERY_SECONDS: Final = 300
TRY_SECONDS: Final = 30
"""Between two questions to one whose cool-down is over."""

_CALL_SECONDS: Final = 90.0

# Whoever sets out says so and commits: the others see it and leave it alone.
_SET_OUT: Final = """
WITH due AS (
    SELECT p.tenant_id, p.slug
      FROM counterfoil.goods_providers p
      LEFT JOIN counterfoil.goods_health h
             ON h.tenant_id = p.tenant_id AND h.provider = p.slug
     WHERE p.is_enabled
       AND p.credential IS NOT NULL
       AND coalesce(h.balance_asked_at, '-infinity') <= counterfoil.now()
           - make_interval(secs => CASE WHEN h.retry_at <= counterfoil.now()
                                        THEN %(again)s ELSE %(every)s END)
     ORDER BY p.tenant_id, p.slug
     LIMIT 20
)
INSERT INTO counterfoil.goods_health AS h (tenant_id, provider, balance_asked_at)
SELECT tenant_id, slug, counterfoil.now() FROM due
    ON CONFLICT (tenant_id, provider) DO UPDATE
   SET balance_asked_at = EXCLUDED.balance_asked_at
 WHERE coalesce(h.balance_asked_at, '-infinity') <= counterfoil.now()
       - make_interval(secs => %(again)s)
RETURNING h.tenant_id, h.provider
"""

_KEEP: Final = """
UPDATE counterfoil.goods_health h
   SET balance_minor = %(minor)s, balance_currency = %(currency)s,
       balance_at = counterfoil.now()
 WHERE h.tenant_id = %(tenant_id)s AND h.provider = %(provider)s
RETURNING h.low_since IS NOT NULL
"""

_LIMITS: Final = """
SELECT currency, low_balance_minor
  FROM counterfoil.goods_limits
 WHERE tenant_id = %(tenant_id)s AND provider = %(provider)s
"""

_LOW: Final = """
UPDATE counterfoil.goods_health
   SET low_since = CASE WHEN %(is_low)s THEN counterfoil.now() END
 WHERE tenant_id = %(tenant_id)s AND provider = %(provider)s
"""


class _Deadline:
    """Lets calls begin for as long as one may take."""

    def __init__(self) -> None:
        self._end = time.monotonic() + _CALL_SECONDS

    def may_begin(self) -> bool:
        """See `CallGuard.may_begin`."""
        return time.monotonic() < self._end


class BalanceWatch:
    """Asks for one process; `round` is called every few seconds, and never waits."""

    def __init__(
        self, connections: Connections, providers: Providers, actor: Actor
    ) -> None:
        """Ask the providers that are configured, in the name of `actor`."""
        self._connections = connections
        self._providers = providers
        self._actor = actor
        self._asking: threading.Thread | None = None

    def round(self) -> None:
        """Ask whoever is due, in a thread of its own: an answer may take long."""
        if self._asking is None or not self._asking.is_alive():
            self._asking = threading.Thread(
                target=self._ask, name="balances", daemon=True
            )
            self._asking.start()

    def wait(self) -> None:
        """Return when whoever was asked in the last round has answered."""
        if self._asking is not None:
            self._asking.join()

    def _ask(self) -> None:
        try:
            self.ask()
        except (DatabaseUnavailableError, psycopg.Error) as error:
            emit("balances not asked", error=type(error).__name__)

    def ask(self) -> int:
        """Return how many providers have told their balance.

        Raises:
            DatabaseUnavailableError: the database went away on the way.
        """
        asked = {"every": EVERY_SECONDS, "again": TRY_SECONDS}
        with self._connections.connection() as connection:
            due = connection.execute(_SET_OUT, asked).fetchall()
        told = 0
        for row in due:
            tenant_id, slug = text(row[0]), text(row[1])
            provider = self._providers.find(tenant_id, slug)
            if (
                isinstance(provider, Unconfigured)
                or not provider.capabilities.has_balance
            ):
                continue
            balance = _balance(provider)
            if balance is not None:
                self._keep(tenant_id, slug, balance)
                told += 1
        return told

    def _keep(self, tenant_id: str, slug: str, balance: Balance) -> None:
        named = {"tenant_id": tenant_id, "provider": slug}
        told = {"minor": balance.minor, "currency": balance.currency}
        with self._connections.connection() as connection:
            with transaction(connection):
                before, after = judge(connection, Told(tenant_id, slug, Sign.SUCCESS))
                ((was_low,),) = connection.execute(_KEEP, named | told).fetchall()
                limits = _limits_of(connection, named)
                low = limits is not None and is_low(
                    limits, balance.minor, balance.currency
                )
                if low != truth(was_low):
                    connection.execute(_LOW, named | {"is_low": low})
                told_low: tuple[BalanceLow, ...] = ()
                if low and limits is not None and not truth(was_low):
                    told_low = self._tell(connection, tenant_id, slug, balance, limits)
            tell_remarks(told_low)
            tell_gate(slug, before, after)

    def _tell(
        self,
        connection: Connection,
        tenant_id: str,
        slug: str,
        balance: Balance,
        limits: Limits,
    ) -> tuple[BalanceLow]:
        event = BalanceLow(
            provider=slug,
            currency=balance.currency,
            balance_minor=balance.minor,
            low_balance_minor=limits.low_balance_minor or 0,
        )
        meta = Meta(actor=self._actor, correlation_id=f"provider:{slug}")
        remark(connection, event, meta, new_id(), tenant_id)
        return (event,)


def _balance(provider: GoodsProvider) -> Balance | None:
    try:
        answer = provider.balance(_Deadline())
    except Exception as error:  # noqa: BLE001 - the provider's edge: an adapter that raises tells nothing
        emit("balance not told", error=type(error).__name__)
        return None
    return answer if isinstance(answer, Balance) else None


def _limits_of(connection: Connection, named: dict[str, str]) -> Limits | None:
    row = connection.execute(_LIMITS, named).fetchone()
    if row is None:
        return None
    return Limits(currency=text(row[0]), low_balance_minor=maybe_number(row[1]))
