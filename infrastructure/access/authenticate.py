"""Who somebody is, by what they show: one look at the database for each request."""

import hmac
from collections.abc import Mapping
from hashlib import sha256
from typing import Final, LiteralString, cast
from uuid import UUID

import psycopg

from application.access.port import Session
from application.access.principal import Principal
from application.access.signing_in import IDLE
from domain.access.audience import Audience
from domain.access.people import csrf_of, session_secret
from domain.access.permissions import Permission
from domain.access.roles import GRANTS, Role
from domain.access.tokens import digest, is_any_of, may_come_from, token_of
from domain.event import Actor
from infrastructure.access.people_book import PostgresPeopleBook
from infrastructure.postgres.batch_store import Connections
from infrastructure.postgres.heads.table import text, truth, uuid
from infrastructure.telemetry import emit

_TENANT: Final = "default"
_FIRST: Final = "bootstrap:operator-token"
"""No person and no token has a name with a colon."""

_FIND: Final = """
SELECT tenant_id, name, surface, scopes, allowed_from, secret,
       CASE WHEN previous_until > counterfoil.now() THEN previous END,
       revoked_at IS NULL AND expires_at > counterfoil.now(),
       coalesce(last_used_at < counterfoil.now() - interval '1 minute', true)
  FROM counterfoil.api_tokens
 WHERE token_id = %(token_id)s
"""

# One request of a minute writes, and none waits for whoever does, or for a rotation.
_USED: Final = """
UPDATE counterfoil.api_tokens
   SET last_used_at = counterfoil.now()
 WHERE token_id IN (SELECT token_id
                      FROM counterfoil.api_tokens
                     WHERE token_id = %(token_id)s
                       AND coalesce(last_used_at < counterfoil.now()
                                    - interval '1 minute', true)
                       FOR NO KEY UPDATE SKIP LOCKED)
"""

_SESSION: Final = """
SELECT p.tenant_id, p.person_id, p.name, p.role,
       s.seen_at < counterfoil.now() - interval '1 minute'
  FROM counterfoil.sessions s
  JOIN counterfoil.people p ON p.person_id = s.person_id
 WHERE s.digest = %(digest)b
   AND p.disabled_at IS NULL
   AND s.ends_at > counterfoil.now()
   AND s.seen_at > counterfoil.now() - %(idle)s
"""

_SEEN: Final = """
UPDATE counterfoil.sessions
   SET seen_at = counterfoil.now()
 WHERE digest IN (SELECT digest
                    FROM counterfoil.sessions
                   WHERE digest = %(digest)b
                     AND seen_at < counterfoil.now() - interval '1 minute'
                     FOR NO KEY UPDATE SKIP LOCKED)
"""


class PostgresAuthenticate:
    """See `Authenticate`."""

    def __init__(
        self,
        connections: Connections,
        *,
        environment: str,
        operator_token: str | None,
    ) -> None:
        """Take where to look, whose tokens count, and the first start's credential."""
        self._connections = connections
        self._people = PostgresPeopleBook(connections)
        self._environment = environment
        self._operator_token = operator_token

    def token(self, text: str, audience: Audience, address: str) -> Principal | None:
        """See `Authenticate.token`."""
        if self._is_first(text):
            return self._first(audience)
        shown = token_of(text)
        if shown is None or shown.environment != self._environment:
            is_any_of(b"", ())
            return None
        return self._known_token(shown.id, shown.secret, audience, address)

    def _known_token(
        self, id_: UUID, secret: bytes, audience: Audience, address: str
    ) -> Principal | None:
        named = {"token_id": id_}
        with self._connections.connection() as connection:
            row = connection.execute(_FIND, named, binary=True).fetchone()
        digests = () if row is None else (row[5], row[6])
        is_right = is_any_of(
            secret, [bytes(cast("bytes", each)) for each in digests if each is not None]
        )
        if row is None or not is_right or not truth(row[7]) or text(row[2]) != audience:
            return None
        if not may_come_from(address, cast("list[str]", row[4])):
            return None
        if truth(row[8]):
            self._stamp(_USED, named)
        return _program(id_, row, audience)

    def session(self, cookie: str, *, is_use: bool = True) -> Session | None:
        """See `Authenticate.session`."""
        secret = session_secret(cookie)
        if secret is None:
            return None
        kept = digest(secret)
        named = {"digest": kept, "idle": IDLE}
        with self._connections.connection() as connection:
            row = connection.execute(_SESSION, named).fetchone()
        # Whoever has a role that a newer version has made may do nothing here.
        if row is None or text(row[3]) not in set(Role):
            return None
        if is_use and truth(row[4]):
            self._stamp(_SEEN, named)
        role = Role(text(row[3]))
        partition = f"session:{kept.hex()[:16]}"
        principal = Principal(
            tenant_id=text(row[0]),
            actor=Actor(type="operator", id=text(row[2])),
            permissions=GRANTS[role],
            role=role,
            id=uuid(row[1]),
            partition=partition,
        )
        return Session(principal=principal, csrf=csrf_of(secret), partition=partition)

    def _stamp(self, statement: LiteralString, named: Mapping[str, object]) -> None:
        """Write when it was used; that nobody can is no reason to turn them away."""
        try:
            with self._connections.connection() as connection:
                connection.execute(statement, named)
        except psycopg.Error as error:
            emit("use not stamped", code=error.sqlstate or "")

    def _is_first(self, text: str) -> bool:
        if self._operator_token is None:
            return False
        shown, kept = (
            sha256(each.encode(errors="replace")).digest()
            for each in (text, self._operator_token)
        )
        return hmac.compare_digest(shown, kept)

    def _first(self, audience: Audience) -> Principal | None:
        """Return whoever starts an installation in which nobody is yet."""
        if audience is not Audience.ADMIN or not self._people.is_empty():
            return None
        return Principal(
            tenant_id=_TENANT,
            actor=Actor(type="operator", id=_FIRST),
            permissions=frozenset({Permission.PEOPLE_WRITE}),
            partition=_FIRST,
        )


def _program(id_: UUID, row: tuple[object, ...], audience: Audience) -> Principal:
    name = text(row[1])
    if audience is Audience.SHOP:
        actor = Actor(type="shop", id=name)
    else:
        actor = Actor(type="operator", id=f"token:{name}")
    known = set(Permission)
    return Principal(
        tenant_id=text(row[0]),
        actor=actor,
        # A word that a newer version has given allows nothing here.
        permissions=frozenset(
            Permission(word) for word in cast("list[str]", row[3]) if word in known
        ),
        id=id_,
        partition=f"token:{id_}",
    )
