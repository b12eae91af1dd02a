"""The table of tokens."""

from functools import partial
from typing import TYPE_CHECKING, Final, cast

from application.access.record import TOKEN, deed
from application.access.tokens import Check, Kept, NewToken, Renewal, Token
from application.errors import StateConflictError
from application.operators.instruction import Instruction
from application.operators.taken import taken
from domain.event import JsonObject
from domain.operators.actions import TOKEN_CREATED, TOKEN_REVOKED, TOKEN_ROTATED
from infrastructure.access.rows import Row, as_id, seen, tell
from infrastructure.postgres.batch_store import Connections
from infrastructure.postgres.database import Connection
from infrastructure.postgres.heads.table import instant, maybe_instant, text, uuid
from infrastructure.recording.recorded import Turn, recorded

if TYPE_CHECKING:
    from collections.abc import Sequence

_COLUMNS: Final = """
SELECT tenant_id, token_id, name, surface, scopes, allowed_from, created_by,
       created_at, expires_at, secret_at,
       CASE WHEN previous_until > counterfoil.now() THEN previous_until END,
       last_used_at, revoked_at, expires_at <= counterfoil.now()
"""

# Whoever asked for it before and lost the answer has made the same row.
_ADD: Final = """
INSERT INTO counterfoil.api_tokens
       (tenant_id, token_id, name, surface, scopes, allowed_from, created_by,
        created_at, secret_at, expires_at, secret)
SELECT %(tenant_id)s, %(token_id)s, %(name)s, %(surface)s, %(scopes)s::text[],
       %(allowed_from)s::text[], %(created_by)s, n.at, n.at,
       n.at + %(days)s * interval '24 hours', %(secret)b
  FROM (SELECT counterfoil.now() AS at) n
    ON CONFLICT DO NOTHING
"""

# A name is a live token's, or of those that are revoked the last one's.
_LOCK: Final = f"""
{_COLUMNS}
  FROM counterfoil.api_tokens
 WHERE token_id = %(token_id)s OR (name = %(name)s AND %(token_id)s::uuid IS NULL)
 ORDER BY revoked_at IS NOT NULL, created_at DESC
   FOR UPDATE
"""

_READ: Final = f"""
{_COLUMNS}
  FROM counterfoil.api_tokens
 WHERE token_id = %(token_id)s
"""

_ALL: Final = f"""
{_COLUMNS}
  FROM counterfoil.api_tokens
 WHERE %(tenant_id)s::text IS NULL OR tenant_id = %(tenant_id)s
 ORDER BY tenant_id, name, created_at
"""

_RENEW: Final = """
UPDATE counterfoil.api_tokens
   SET previous = CASE WHEN %(overlap)s > 0 AND expires_at > n.at THEN secret END,
       previous_until = CASE WHEN %(overlap)s > 0 AND expires_at > n.at
           THEN least(expires_at, n.at + %(overlap)s * interval '1 second') END,
       secret = %(secret)b,
       secret_at = n.at,
       expires_at = n.at + %(days)s * interval '24 hours'
  FROM (SELECT counterfoil.now() AS at) n
 WHERE token_id = %(token_id)s
"""

_REVOKE: Final = """
UPDATE counterfoil.api_tokens
   SET revoked_at = counterfoil.now()
 WHERE token_id = %(token_id)s AND revoked_at IS NULL
"""


class PostgresTokenBook:
    """See `TokenBook`."""

    def __init__(self, connections: Connections) -> None:
        """Take the connections to borrow."""
        self._connections = connections

    def add(self, new: NewToken, instruction: Instruction) -> Kept:
        """See `TokenBook.add`."""
        row = {
            "tenant_id": new.tenant_id,
            "token_id": new.id,
            "name": new.name,
            "surface": new.surface,
            "scopes": [str(scope) for scope in new.scopes],
            "allowed_from": list(new.allowed_from),
            "created_by": instruction.actor.id,
            "days": new.days,
            "secret": new.digest,
        }

        def lock(connection: Connection) -> None:
            connection.execute(_ADD, row)

        def make(turn: Turn[Kept], _locked: None) -> Kept:
            found = turn.connection.execute(_READ, row).fetchall()
            if not found:
                remedy = "give another name, or rotate that one"
                raise StateConflictError(TOKEN, new.name, "there already", remedy)
            token = _token(found[0])
            fact = taken(deed(TOKEN_CREATED, TOKEN, token.id), {}, _facts(token))
            kept = partial(_kept, token)
            return tell(turn, fact, token.tenant_id, instruction, kept)

        return recorded(self._connections, lock, make)

    def renew(
        self, key: str, renewal: Renewal, check: Check, instruction: Instruction
    ) -> Kept:
        """See `TokenBook.renew`."""

        def make(turn: Turn[Kept], token: Token) -> Kept:
            check(token)
            if token.revoked_at is not None:
                raise StateConflictError(TOKEN, key, "revoked", "create another one")
            row = {
                "token_id": token.id,
                "secret": renewal.digest,
                "days": renewal.days,
                "overlap": renewal.overlap_seconds,
            }
            turn.connection.execute(_RENEW, row)
            return _told(turn, TOKEN_ROTATED, token, instruction)

        return recorded(self._connections, partial(_locked, key, instruction), make)

    def revoke(self, key: str, instruction: Instruction) -> Kept:
        """See `TokenBook.revoke`."""

        def make(turn: Turn[Kept], token: Token) -> Kept:
            turn.connection.execute(_REVOKE, {"token_id": token.id})
            return _told(turn, TOKEN_REVOKED, token, instruction)

        return recorded(self._connections, partial(_locked, key, instruction), make)

    def all(self, tenant_id: str | None) -> tuple[Token, ...]:
        """See `TokenBook.all`."""
        with self._connections.connection() as connection:
            rows = connection.execute(_ALL, {"tenant_id": tenant_id}).fetchall()
        return tuple(_token(row) for row in rows)


def _locked(key: str, instruction: Instruction, connection: Connection) -> Token:
    named = {"token_id": as_id(key), "name": key}
    found = connection.execute(_LOCK, named).fetchall()
    return _token(seen(found, TOKEN, key, instruction))


def _told(
    turn: Turn[Kept], action: str, before: Token, instruction: Instruction
) -> Kept:
    named = {"token_id": before.id}
    (row,) = turn.connection.execute(_READ, named).fetchall()
    token = _token(row)
    fact = taken(deed(action, TOKEN, token.id), _facts(before), _facts(token))
    return tell(turn, fact, token.tenant_id, instruction, partial(_kept, token))


def _kept(token: Token, position: int) -> Kept:
    return Kept(token=token, position=position)


def _facts(token: Token) -> JsonObject:
    return {
        "name": token.name,
        "surface": token.surface,
        "scopes": list(token.scopes),
        "allowed_from": list(token.allowed_from),
        "state": token.state,
        "expires_at": token.expires_at.isoformat(),
        "rotated_at": token.rotated_at.isoformat(),
    }


def _token(row: Row) -> Token:
    revoked_at, is_expired = maybe_instant(row[12]), bool(row[13])
    return Token(
        tenant_id=text(row[0]),
        id=uuid(row[1]),
        name=text(row[2]),
        surface=text(row[3]),
        scopes=_texts(row[4]),
        allowed_from=_texts(row[5]),
        state="revoked" if revoked_at else "expired" if is_expired else "live",
        created_by=text(row[6]),
        created_at=instant(row[7]),
        expires_at=instant(row[8]),
        rotated_at=instant(row[9]),
        previous_until=maybe_instant(row[10]),
        last_used_at=maybe_instant(row[11]),
        revoked_at=revoked_at,
    )


def _texts(column: object) -> tuple[str, ...]:
    return tuple(cast("Sequence[str]", column))
