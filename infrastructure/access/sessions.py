"""The table of sessions, and who may begin one."""

from typing import Final

from application.access.record import PERSON, deed
from application.access.signing_in import IDLE, LONGEST, Known
from application.errors import UnauthorizedError
from application.operators.instruction import Instruction
from application.operators.taken import taken
from domain.access.roles import Role
from domain.event import Actor, Instant, JsonObject
from domain.operators.actions import SESSION_BEGAN, SESSION_ENDED
from infrastructure.access.rows import Row, tell
from infrastructure.postgres.batch_store import Connections
from infrastructure.postgres.database import Connection
from infrastructure.postgres.heads.table import instant, text, truth, uuid
from infrastructure.recording.recorded import Turn, recorded

_SIGNS_IN: Final = "signs in"
_SIGNS_OUT: Final = "signs out"

_KNOWN: Final = """
SELECT person_id, tenant_id, name, role, password, disabled_at IS NOT NULL
  FROM counterfoil.people
 WHERE name = %(name)s
"""

# Whoever disables them, or changes what they may do, waits, and then ends this one too.
_STILL: Final = """
SELECT FROM counterfoil.people
 WHERE person_id = %(person_id)s
   AND password = %(password)s
   AND role = %(role)s
   AND disabled_at IS NULL
   FOR SHARE
"""

_BEGIN: Final = """
INSERT INTO counterfoil.sessions
       (tenant_id, digest, person_id, began_at, seen_at, ends_at)
SELECT %(tenant_id)s, %(digest)b, %(person_id)s, n.at, n.at, n.at + %(longest)s
  FROM (SELECT counterfoil.now() AS at) n
    ON CONFLICT (digest) DO NOTHING
"""

_END_OLD: Final = """
DELETE FROM counterfoil.sessions
 WHERE digest = %(before)b
    OR (person_id = %(person_id)s
        AND (ends_at <= counterfoil.now()
             OR seen_at <= counterfoil.now() - %(idle)s))
"""

_ENDS_AT: Final = "SELECT ends_at FROM counterfoil.sessions WHERE digest = %(digest)b"

_LOCK: Final = """
SELECT s.tenant_id, s.person_id, p.name, p.role
  FROM counterfoil.sessions s
  JOIN counterfoil.people p ON p.person_id = s.person_id
 WHERE s.digest = %(digest)b
   FOR UPDATE OF s
"""

_END: Final = "DELETE FROM counterfoil.sessions WHERE digest = %(digest)b"


class PostgresSessions:
    """See `Sessions`."""

    def __init__(self, connections: Connections) -> None:
        """Take the connections to borrow."""
        self._connections = connections

    def known(self, name: str) -> Known | None:
        """See `Sessions.known`."""
        with self._connections.connection() as connection:
            row = connection.execute(_KNOWN, {"name": name}).fetchone()
        # Whoever has a role that a newer version has made may do nothing here.
        if row is None or text(row[3]) not in set(Role):
            return None
        return Known(
            id=uuid(row[0]),
            tenant_id=text(row[1]),
            name=text(row[2]),
            role=Role(text(row[3])),
            password=text(row[4]),
            is_disabled=truth(row[5]),
        )

    def begin(
        self, known: Known, digest: bytes, before: bytes | None, request_id: str | None
    ) -> Instant | None:
        """See `Sessions.begin`."""
        named = {
            "tenant_id": known.tenant_id,
            "person_id": known.id,
            "password": known.password,
            "role": str(known.role),
            "digest": digest,
            "before": before,
            "longest": LONGEST,
            "idle": IDLE,
        }

        def lock(connection: Connection) -> None:
            if not connection.execute(_STILL, named).rowcount:
                raise UnauthorizedError
            connection.execute(_END_OLD, named)
            connection.execute(_BEGIN, named)

        def make(turn: Turn[Instant], _locked: None) -> Instant:
            ((found,),) = turn.connection.execute(_ENDS_AT, named).fetchall()
            ends_at = instant(found)
            after: JsonObject = {"ends_at": ends_at.isoformat()}
            fact = taken(deed(SESSION_BEGAN, PERSON, known.id), {}, after)
            by = _by(known.name, known.role, known.tenant_id, _SIGNS_IN, request_id)
            return tell(turn, fact, known.tenant_id, by, lambda _: ends_at)

        try:
            return recorded(self._connections, lock, make)
        except UnauthorizedError:
            return None

    def end(self, digest: bytes, request_id: str | None) -> None:
        """See `Sessions.end`."""
        named = {"digest": digest}

        def lock(connection: Connection) -> Row | None:
            return connection.execute(_LOCK, named).fetchone()

        def make(turn: Turn[bool], row: Row | None) -> bool:
            if row is None:
                return False
            turn.connection.execute(_END, named)
            tenant_id, person = text(row[0]), uuid(row[1])
            fact = taken(deed(SESSION_ENDED, PERSON, person), {}, {})
            by = _by(text(row[2]), text(row[3]), tenant_id, _SIGNS_OUT, request_id)
            return tell(turn, fact, tenant_id, by, lambda _: True)

        recorded(self._connections, lock, make)


def _by(
    name: str, role: str, tenant_id: str, reason: str, request_id: str | None
) -> Instruction:
    known = Role(role) if role in set(Role) else None
    return Instruction(
        actor=Actor(type="operator", id=name),
        reason=reason,
        role=known,
        tenant_id=tenant_id,
        request_id=request_id,
    )
