"""Why nothing may be bought of a provider now; the database refuses the same again.

quarantine, journal ─► limit of what is spent ─► one that tries a provider that was ill

In this order, because whoever is let through by the last is the only one who tries.
"""

from datetime import timedelta
from typing import Final

from application.goods.port import Guard, LookupAnswer, SubmitAnswer
from application.goods.signs import sign_of
from domain.event import Instant
from domain.goods.health import PATIENCE, Patience
from infrastructure.guards.health import HealthKeeper, Told, waits_for_probe
from infrastructure.guards.journal import FileJournal, Line
from infrastructure.guards.looking import ConnectionLook, evidence_on
from infrastructure.postgres.batch_store import Connections
from infrastructure.postgres.database import Connection
from infrastructure.postgres.heads.table import instant, maybe_instant, truth
from infrastructure.telemetry import emit

QUARANTINED: Final = "quarantined"
JOURNAL_UNWRITABLE: Final = "journal_unwritable"
SPEND_LIMIT: Final = "spend_limit"
BREAKER_OPEN: Final = "breaker_open"

NEWEST: Final = 16
"""Lines of the journal that are compared before each purchase: as many as one host
sends at once.  The others are compared with every new connection."""

_LOOK_AGAIN: Final = timedelta(minutes=1)
_LONGEST_WAIT: Final = timedelta(hours=1)

_STATE: Final = """
SELECT counterfoil.now(),
       NOT EXISTS (SELECT FROM counterfoil.restore_guard g WHERE g.state = 'open')
"""

# When enough of the window is over is known roughly: with what is oldest in it.
_SPENT: Final = """
SELECT counterfoil.spent_of(l) + %(cost)s > l.spend_limit_minor,
       (SELECT min(s.submitted_at)
          FROM counterfoil.goods_spending s
         WHERE s.tenant_id = l.tenant_id
           AND s.provider = l.provider
           AND s.submitted_at
               > counterfoil.now() - make_interval(secs => l.spend_window_seconds))
       + make_interval(secs => l.spend_window_seconds)
  FROM counterfoil.goods_limits l
 WHERE l.tenant_id = %(tenant_id)s
   AND l.provider = %(provider)s
   AND l.spend_limit_minor > 0
"""


class MoneyGuards:
    """Guards one process's purchases; see `Guards`."""

    def __init__(
        self,
        connections: Connections,
        journal: FileJournal,
        look: ConnectionLook,
        patience: Patience = PATIENCE,
    ) -> None:
        """Ask over these connections; compare the log with the journal."""
        self._patience = patience
        self._connections = connections
        self._journal = journal
        self._look = look
        self.health = HealthKeeper(connections, patience)

    def barring(self, tenant_id: str, slug: str, cost_minor: int) -> Guard | None:
        """See `Guards.barring`.

        Raises:
            DatabaseUnavailableError: nobody knows.
        """
        with self._connections.connection() as connection:
            now, is_barred = self._quarantined(connection)
            if is_barred:
                return Guard(code=QUARANTINED, until=now + _LOOK_AGAIN)
            if not self._can_be_kept():
                return Guard(code=JOURNAL_UNWRITABLE, until=now + _LOOK_AGAIN)
            until = _spent_until(connection, tenant_id, slug, cost_minor, now)
            if until is not None:
                return Guard(code=SPEND_LIMIT, until=until)
            until = waits_for_probe(connection, tenant_id, slug, self._patience)
            if until is not None:
                return Guard(code=BREAKER_OPEN, until=until)
        return None

    def _quarantined(self, connection: Connection) -> tuple[Instant, bool]:
        (row,) = connection.execute(_STATE).fetchall()
        now, is_quarantined = instant(row[0]), truth(row[1])
        if not is_quarantined:
            evidence = evidence_on(connection, self._newest())
            if evidence.signs:
                self._look.look(connection)
                return now, True
        return now, is_quarantined

    def _newest(self) -> tuple[Line, ...]:
        try:
            return self._journal.newest(NEWEST)
        except OSError:
            return ()  # told by `_can_be_kept`

    def _can_be_kept(self) -> bool:
        """Whether the journal can be read, and takes another line for all we know."""
        try:
            self._journal.newest(1)
            self._journal.check()
        except OSError as error:
            emit("journal cannot be kept", error=error.strerror or str(error))
            return False
        return True

    def record(
        self, tenant_id: str, slug: str, answer: SubmitAnswer | LookupAnswer
    ) -> None:
        """See `Guards.record`."""
        sign, code = sign_of(answer)
        self.health.tell(Told(tenant_id, slug, sign, code))


def _spent_until(
    connection: Connection, tenant_id: str, slug: str, cost_minor: int, now: Instant
) -> Instant | None:
    """Return when it is worth looking again; None: the purchase fits."""
    asked = {"tenant_id": tenant_id, "provider": slug, "cost": cost_minor}
    row = connection.execute(_SPENT, asked).fetchone()
    if row is None or cost_minor == 0 or not truth(row[0]):
        return None
    over = maybe_instant(row[1]) or now + _LONGEST_WAIT
    return min(max(over, now + _LOOK_AGAIN), now + _LONGEST_WAIT)
