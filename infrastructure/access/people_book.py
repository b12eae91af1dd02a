"""The table of people; what changes what somebody may do ends their sessions."""

from collections.abc import Mapping
from functools import partial
from typing import Final, LiteralString
from uuid import UUID

from application.access.people import KeptPerson, NewPerson, Person
from application.access.record import PERSON, deed
from application.errors import StateConflictError
from application.operators.instruction import Instruction
from application.operators.taken import taken
from domain.access.roles import Role
from domain.event import JsonObject
from domain.operators import actions
from infrastructure.access.rows import Row, as_id, seen, tell
from infrastructure.postgres.batch_store import Connections
from infrastructure.postgres.database import Connection
from infrastructure.postgres.heads.table import (
    instant,
    maybe_instant,
    number,
    text,
    truth,
    uuid,
)
from infrastructure.recording.recorded import Turn, recorded

_COLUMNS: Final = """
SELECT p.tenant_id, p.person_id, p.name, p.role, p.created_at, p.password_at,
       p.disabled_at,
       (SELECT count(*)
          FROM counterfoil.sessions s
         WHERE s.person_id = p.person_id
           AND s.ends_at > counterfoil.now()
           AND s.seen_at > counterfoil.now() - interval '30 minutes')
"""

# Whoever is about to be the first lets nobody else in meanwhile.
_ALONE: Final = "LOCK TABLE counterfoil.people IN SHARE ROW EXCLUSIVE MODE"

_IS_EMPTY: Final = "SELECT NOT EXISTS (SELECT FROM counterfoil.people)"

_IS_ALONE: Final = """
SELECT NOT EXISTS (SELECT FROM counterfoil.people WHERE person_id <> %(person_id)s)
"""

_ADD: Final = """
INSERT INTO counterfoil.people (tenant_id, person_id, name, role, password)
VALUES (%(tenant_id)s, %(person_id)s, %(name)s, %(role)s, %(password)s)
    ON CONFLICT DO NOTHING
"""

_LOCK: Final = """
SELECT p.tenant_id, p.person_id
  FROM counterfoil.people p
 WHERE p.person_id = %(person_id)s OR p.name = %(name)s
   FOR UPDATE
"""

_READ: Final = f"""
{_COLUMNS}
  FROM counterfoil.people p
 WHERE p.person_id = %(person_id)s OR p.name = %(name)s
"""

_ALL: Final = f"""
{_COLUMNS}
  FROM counterfoil.people p
 WHERE %(tenant_id)s::text IS NULL OR p.tenant_id = %(tenant_id)s
 ORDER BY p.name
"""

_SET_ROLE: Final = """
UPDATE counterfoil.people SET role = %(role)s WHERE person_id = %(person_id)s
"""

_DISABLE: Final = """
UPDATE counterfoil.people
   SET disabled_at = counterfoil.now()
 WHERE person_id = %(person_id)s AND disabled_at IS NULL
"""

_ENABLE: Final = """
UPDATE counterfoil.people SET disabled_at = NULL WHERE person_id = %(person_id)s
"""

_CHANGE: Final = """
UPDATE counterfoil.people
   SET password = %(password)s, password_at = counterfoil.now()
 WHERE person_id = %(person_id)s
"""

_END_SESSIONS: Final = """
DELETE FROM counterfoil.sessions WHERE person_id = %(person_id)s
"""


class PostgresPeopleBook:
    """See `PeopleBook`."""

    def __init__(self, connections: Connections) -> None:
        """Take the connections to borrow."""
        self._connections = connections

    def add(
        self, new: NewPerson, instruction: Instruction, *, only_first: bool
    ) -> KeptPerson:
        """See `PeopleBook.add`."""
        row = {
            "tenant_id": new.tenant_id,
            "person_id": new.id,
            "name": new.name,
            "role": str(new.role),
            "password": new.password,
        }

        def lock(connection: Connection) -> None:
            if only_first:
                connection.execute(_ALONE)
            connection.execute(_ADD, row)

        def make(turn: Turn[KeptPerson], _locked: None) -> KeptPerson:
            if only_first:
                _require_nobody_else(turn.connection, new)
            found = turn.connection.execute(_READ, _by_id(new.id)).fetchall()
            if not found:
                remedy = "give another name"
                raise StateConflictError(PERSON, new.name, "there already", remedy)
            person = _person(found[0])
            fact = taken(
                deed(actions.PERSON_CREATED, PERSON, person.id), {}, _facts(person)
            )
            kept = partial(_kept, person)
            return tell(turn, fact, person.tenant_id, instruction, kept)

        return recorded(self._connections, lock, make)

    def set_role(self, key: str, role: Role, instruction: Instruction) -> KeptPerson:
        """See `PeopleBook.set_role`."""
        change = _Change(actions.PERSON_ROLE_CHANGED, _SET_ROLE, {"role": str(role)})
        return self._changed(key, change, instruction)

    def set_disabled(
        self, key: str, instruction: Instruction, *, disabled: bool
    ) -> KeptPerson:
        """See `PeopleBook.set_disabled`."""
        change = (
            _Change(actions.PERSON_DISABLED, _DISABLE, {})
            if disabled
            else _Change(actions.PERSON_ENABLED, _ENABLE, {})
        )
        return self._changed(key, change, instruction)

    def set_password(
        self, key: str, password: str, instruction: Instruction
    ) -> KeptPerson:
        """See `PeopleBook.set_password`."""
        change = _Change(actions.PERSON_PASSWORD_SET, _CHANGE, {"password": password})
        return self._changed(key, change, instruction)

    def find(self, key: str) -> Person | None:
        """See `PeopleBook.find`."""
        with self._connections.connection() as connection:
            row = connection.execute(_READ, _named(key)).fetchone()
        return None if row is None else _person(row)

    def all(self, tenant_id: str | None) -> tuple[Person, ...]:
        """See `PeopleBook.all`."""
        with self._connections.connection() as connection:
            rows = connection.execute(_ALL, {"tenant_id": tenant_id}).fetchall()
        return tuple(_person(row) for row in rows)

    def is_empty(self) -> bool:
        """See `PeopleBook.is_empty`."""
        with self._connections.connection() as connection:
            ((is_empty,),) = connection.execute(_IS_EMPTY).fetchall()
        return truth(is_empty)

    def _changed(
        self, key: str, change: "_Change", instruction: Instruction
    ) -> KeptPerson:
        def lock(connection: Connection) -> UUID:
            found = connection.execute(_LOCK, _named(key)).fetchall()
            return uuid(seen(found, PERSON, key, instruction)[1])

        def make(turn: Turn[KeptPerson], id_: UUID) -> KeptPerson:
            connection, named = turn.connection, _by_id(id_)
            before = _read(connection, named)
            connection.execute(change.statement, {**change.given, **named})
            connection.execute(_END_SESSIONS, named)
            after = _read(connection, named)
            fact = taken(
                deed(change.action, PERSON, id_), _facts(before), _facts(after)
            )
            kept = partial(_kept, after)
            return tell(turn, fact, after.tenant_id, instruction, kept)

        return recorded(self._connections, lock, make)


class _Change:
    """What is done to one row, by its name in the log."""

    def __init__(
        self, action: str, statement: LiteralString, given: Mapping[str, object]
    ) -> None:
        self.action = action
        self.statement: LiteralString = statement
        self.given = given


def _require_nobody_else(connection: Connection, new: NewPerson) -> None:
    ((is_alone,),) = connection.execute(_IS_ALONE, _by_id(new.id)).fetchall()
    if not is_alone:
        what = "first owner"
        remedy = "sign in as whoever is, or use `counterfoil people add`"
        raise StateConflictError(what, new.name, "too late", remedy)


def _named(key: str) -> dict[str, object]:
    return {"person_id": as_id(key), "name": key.strip().lower()}


def _by_id(id_: UUID) -> dict[str, object]:
    return {"person_id": id_, "name": None}


def _read(connection: Connection, named: Mapping[str, object]) -> Person:
    (row,) = connection.execute(_READ, named).fetchall()
    return _person(row)


def _kept(person: Person, position: int) -> KeptPerson:
    return KeptPerson(person=person, position=position)


def _facts(person: Person) -> JsonObject:
    return {"name": person.name, "role": person.role, "state": person.state}


def _person(row: Row) -> Person:
    disabled_at = maybe_instant(row[6])
    return Person(
        tenant_id=text(row[0]),
        id=uuid(row[1]),
        name=text(row[2]),
        role=text(row[3]),
        state="enabled" if disabled_at is None else "disabled",
        created_at=instant(row[4]),
        password_at=instant(row[5]),
        disabled_at=disabled_at,
        sessions=number(row[7]),
    )
