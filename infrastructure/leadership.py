"""Who holds a role of the whole installation: rows with a term and an end.

           stand                     stand, in time
 (nobody) ───────► held, term n ────────────────────► held, term n
     ▲                   │ release, or no renewal for TTL_SECONDS
     └───────────────────┘ then whoever stands next holds it, in term n + 1

The database's clock alone decides.  A holder stops believing in its role by its own
clock, counted from before it asked, so its belief always ends first.  Even so a role
only spares work that would be done twice: what must happen once is guarded by what
it changes (a checkpoint, a version), never by the role alone.

A role is no lock of a session: PgBouncer in transaction mode must work.
"""

from collections.abc import Callable, Collection, Mapping
from typing import Final, NamedTuple

from domain.jobs.events import Owner
from infrastructure.postgres.database import Connection, transaction
from infrastructure.postgres.heads.table import number, text
from infrastructure.processor.leases import boottime

TTL_SECONDS: Final = 10.0
"""How long a role stays with a process that is not heard of any more.  Its transaction
that is left open ends after as long (`idle_in_transaction_session_timeout`)."""

STAND_SECONDS: Final = 3.0
"""How often a process stands for its roles.  With the longest life of a role that is a
takeover within 13 s, and two renewals in a row may fail."""

# What another process holds is only read: nobody who waits for a role writes a row or
# holds a lock that its holder would meet.  In the order of the names, so that two who
# stand at once never wait for each other in a circle; what has changed meanwhile is
# seen by the condition of the update, and missed.
_STAND: Final = """
INSERT INTO counterfoil.leadership AS l (role, holder, host, pid, term, expires_at)
SELECT r.role, %(holder)s, %(host)s, %(pid)s, 1,
       counterfoil.now() + make_interval(secs => %(ttl)s)
  FROM unnest(%(roles)s::text[]) AS r(role)
  LEFT JOIN counterfoil.leadership b ON b.role = r.role
 WHERE b.role IS NULL
    OR b.holder = %(holder)s
    OR b.expires_at <= counterfoil.now()
 ORDER BY r.role
    ON CONFLICT (role) DO UPDATE
   SET holder = excluded.holder,
       host = excluded.host,
       pid = excluded.pid,
       term = l.term + CASE WHEN l.holder = excluded.holder
                             AND l.expires_at > counterfoil.now() THEN 0 ELSE 1 END,
       expires_at = excluded.expires_at
 WHERE l.holder = excluded.holder
    OR l.expires_at <= counterfoil.now()
RETURNING l.role, l.term
"""

# The row stays, for the next term counts on from it.
_RELEASE: Final = """
UPDATE counterfoil.leadership
   SET expires_at = counterfoil.now()
 WHERE role IN (SELECT role
                  FROM counterfoil.leadership
                 WHERE role = ANY(%(roles)s::text[])
                   AND holder = %(holder)s
                   AND expires_at > counterfoil.now()
                 ORDER BY role
                   FOR UPDATE)
   AND holder = %(holder)s
RETURNING role
"""


_HOLDER: Final = """
SELECT host, pid, term
  FROM counterfoil.leadership
 WHERE role = %(role)s
   AND expires_at > counterfoil.now()
"""


class Holder(NamedTuple):
    """The process that holds a role, so that a person can look for it."""

    host: str
    pid: int
    term: int


def holder_of(connection: Connection, role: str) -> Holder | None:
    """Return who holds a role now; None: whoever stands next may have it."""
    row = connection.execute(_HOLDER, {"role": role}).fetchone()
    return None if row is None else Holder(text(row[0]), number(row[1]), number(row[2]))


class Leadership:
    """The roles of one process, or of one part of it; of one thread.

    Nothing is believed longer than the database was asked for it: `held` is empty as
    soon as the last answer is older than a role lives, and after a freeze too.
    """

    def __init__(
        self,
        holder: Owner,
        *,
        ttl_seconds: float = TTL_SECONDS,
        elapsed: Callable[[], float] = boottime,
    ) -> None:
        """Stand for `holder`, whose boot id no other process has ever had."""
        self._holder = holder
        self._ttl_seconds = ttl_seconds
        self._elapsed = elapsed
        self._terms: dict[str, int] = {}
        self._until = elapsed()
        self._asked_at = float("-inf")

    @property
    def held(self) -> Mapping[str, int]:
        """The roles that are certainly held now, with their terms."""
        return dict(self._terms) if self._elapsed() < self._until else {}

    @property
    def seconds_since(self) -> float:
        """How long ago the database was last asked, whatever it answered."""
        return self._elapsed() - self._asked_at

    def stand(
        self, connection: Connection, roles: Collection[str]
    ) -> Mapping[str, int]:
        """Return those of `roles` that are held now, with their terms, committed.

        Held ones are renewed, free ones taken, others' left alone.  A role that was
        held and is not named any more is not renewed; `release` gives it back.

        Raises:
            DatabaseUnavailableError: nothing is known to be held longer than before.
            psycopg.errors.LockNotAvailable: somebody else is taking one of them.
        """
        self._asked_at = asked_at = self._elapsed()
        asked = {
            "roles": sorted(roles),
            "holder": self._holder.boot,
            "host": self._holder.host,
            "pid": self._holder.pid,
            "ttl": self._ttl_seconds,
        }
        with transaction(connection):
            rows = connection.execute(_STAND, asked).fetchall()
        self._terms = {text(role): number(term) for role, term in rows}
        self._until = asked_at + self._ttl_seconds
        return self.held

    def release(
        self, connection: Connection, roles: Collection[str] | None = None
    ) -> Collection[str]:
        """Return the roles that were given back; whoever stands next may have them.

        All that are held, or those of `roles`.  None of them is believed in any more,
        even if somebody else has it by now.

        Raises:
            DatabaseUnavailableError: they may have to be waited for.
        """
        given = self._terms.keys() if roles is None else set(roles)
        self._terms = {
            role: term for role, term in self._terms.items() if role not in given
        }
        asked = {"roles": sorted(given), "holder": self._holder.boot}
        with transaction(connection):
            rows = connection.execute(_RELEASE, asked).fetchall()
        return [text(role) for (role,) in rows]
