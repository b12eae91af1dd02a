"""Add people and change what they may do, with a reason, on record.

Nobody gives a role that may do more than they may themselves.  The first owner is made
with the credential of the first start, which is good for nothing else, and for nothing
at all once anybody is there.
"""

from dataclasses import dataclass
from typing import Final, Protocol, override
from uuid import UUID

import msgspec

from application.access.record import PERSON, OnRecord
from application.errors import NotFoundError
from application.operators.instruction import Instruction
from application.unit import Ids
from domain.access.people import check_name, check_password, check_role
from domain.access.permissions import Permission
from domain.access.roles import GRANTS, Role
from domain.event import Instant
from domain.members import invalid

_ADD: Final = "add_person"


class Person(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Somebody as they are told: nothing of their password."""

    id: UUID
    tenant_id: str
    name: str
    role: str
    state: str
    """`enabled` or `disabled`."""
    created_at: Instant
    password_at: Instant
    """When their password was set."""
    disabled_at: Instant | None
    sessions: int
    """In how many places they have signed in."""


class WantedPerson(msgspec.Struct, frozen=True, kw_only=True):
    """Somebody as they are asked for."""

    tenant_id: str
    name: str
    role: str
    password: str

    @override
    def __repr__(self) -> str:
        """Return it without the password."""
        return f"WantedPerson({self.name!r}, {self.role!r})"


class NewPerson(msgspec.Struct, frozen=True, kw_only=True):
    """Somebody as they are kept first."""

    id: UUID
    tenant_id: str
    name: str
    role: Role
    password: str
    """Its hash."""


class KeptPerson(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Somebody after something was done to them."""

    person: Person
    position: int
    """A reader at this position of the log sees it."""


class PeopleBook(Protocol):
    """Keeps people; each change is committed with its fact, or not at all.

    Whatever changes what somebody may do ends their sessions.
    """

    def add(
        self, new: NewPerson, instruction: Instruction, *, only_first: bool
    ) -> KeptPerson:
        """Keep somebody new; `only_first`: if nobody is there at all.

        Raises:
            StateConflictError: somebody is called so, or is there.
            DatabaseUnavailableError: nothing is known to be done.
        """
        ...

    def set_role(self, key: str, role: Role, instruction: Instruction) -> KeptPerson:
        """Give somebody another role.

        Raises:
            NotFoundError: nobody that they see has that id or name.
            DatabaseUnavailableError: nothing is known to be done.
        """
        ...

    def set_disabled(
        self, key: str, instruction: Instruction, *, disabled: bool
    ) -> KeptPerson:
        """Let somebody sign in no more, or again.

        Raises:
            NotFoundError: nobody that they see has that id or name.
            DatabaseUnavailableError: nothing is known to be done.
        """
        ...

    def set_password(
        self, key: str, password: str, instruction: Instruction
    ) -> KeptPerson:
        """Give somebody another password, of which this is the hash.

        Raises:
            NotFoundError: nobody that they see has that id or name.
            DatabaseUnavailableError: nothing is known to be done.
        """
        ...

    def find(self, key: str) -> Person | None:
        """Return whoever has that id or name."""
        ...

    def all(self, tenant_id: str | None) -> tuple[Person, ...]:
        """Return the people of a tenant, or of all, by name."""
        ...

    def is_empty(self) -> bool:
        """Whether nobody is there yet."""
        ...


class Passwords(Protocol):
    """Hashes passwords so that nobody can tell them from that."""

    def hashed(self, password: str) -> str:
        """Return the hash of a password, with a salt of its own."""
        ...

    def matches(self, hashed: str | None, password: str) -> bool:
        """Whether it is the password of that hash; without one: no, in the same time.

        Raises:
            QuotaExceededError: too many wait to be told.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class People:
    """What may be done to people."""

    book: PeopleBook
    record: OnRecord
    passwords: Passwords
    ids: Ids

    def add(self, wanted: WantedPerson, instruction: Instruction) -> KeptPerson:
        """Return somebody new.

        Raises:
            InvalidRequestError: name, role or password cannot be meant.
            ForbiddenError: they may not, or the role may more than they.
            NotFoundError: the tenant is not theirs.
            StateConflictError: somebody is called so.
            DatabaseUnavailableError: nothing is known to be done.
        """
        with self.record.refusing(_ADD, PERSON, wanted.name, instruction):
            instruction.require(Permission.PEOPLE_WRITE)
            role = check_role(wanted.role)
            _require_no_more(instruction, role)
            return self._added(wanted, role, instruction, only_first=False)

    def add_first(self, wanted: WantedPerson, instruction: Instruction) -> KeptPerson:
        """Return the very first, an owner, whom nobody could have added.

        Raises:
            InvalidRequestError: name, role or password cannot be meant.
            ForbiddenError: they may not.
            NotFoundError: the tenant is not theirs.
            StateConflictError: somebody is there already.
            DatabaseUnavailableError: nothing is known to be done.
        """
        with self.record.refusing(_ADD, PERSON, wanted.name, instruction):
            instruction.require(Permission.PEOPLE_WRITE)
            role = check_role(wanted.role)
            if role is not Role.OWNER:
                invalid("role", "owner: the first one has to be")
            return self._added(wanted, role, instruction, only_first=True)

    def set_role(self, key: str, role: str, instruction: Instruction) -> KeptPerson:
        """Return somebody with another role; they have to sign in anew.

        Raises:
            InvalidRequestError: there is no such role.
            ForbiddenError: they may not, or the role may more than they.
            NotFoundError: nobody that they see has that id or name.
            DatabaseUnavailableError: nothing is known to be done.
        """
        with self.record.refusing("change_role", PERSON, key, instruction):
            instruction.require(Permission.PEOPLE_WRITE)
            given = check_role(role)
            _require_no_more(instruction, given)
            return self.book.set_role(key, given, instruction)

    def set_disabled(
        self, key: str, instruction: Instruction, *, disabled: bool
    ) -> KeptPerson:
        """Return somebody who signs in no more and whose sessions are over, or again.

        Raises:
            ForbiddenError: they may not.
            NotFoundError: nobody that they see has that id or name.
            DatabaseUnavailableError: nothing is known to be done.
        """
        action = "disable_person" if disabled else "enable_person"
        with self.record.refusing(action, PERSON, key, instruction):
            instruction.require(Permission.PEOPLE_WRITE)
            return self.book.set_disabled(key, instruction, disabled=disabled)

    def set_password(
        self, key: str, password: str, instruction: Instruction
    ) -> KeptPerson:
        """Return somebody with another password; they have to sign in anew.

        Raises:
            InvalidRequestError: it cannot be one.
            ForbiddenError: they may not.
            NotFoundError: nobody that they see has that id or name.
            DatabaseUnavailableError: nothing is known to be done.
        """
        with self.record.refusing("set_password", PERSON, key, instruction):
            instruction.require(Permission.PEOPLE_WRITE)
            person = self.book.find(key)
            if person is None or not instruction.sees(person.tenant_id):
                raise NotFoundError(PERSON, key)
            hashed = self.passwords.hashed(check_password(password, person.name))
            return self.book.set_password(str(person.id), hashed, instruction)

    def all(self, tenant_id: str | None) -> tuple[Person, ...]:
        """Return the people of a tenant, or of all, by name."""
        return self.book.all(tenant_id)

    def _added(
        self,
        wanted: WantedPerson,
        role: Role,
        instruction: Instruction,
        *,
        only_first: bool,
    ) -> KeptPerson:
        if not instruction.sees(wanted.tenant_id):
            what = "tenant"
            raise NotFoundError(what, wanted.tenant_id)
        name = check_name(wanted.name)
        new = NewPerson(
            id=self.ids(),
            tenant_id=wanted.tenant_id,
            name=name,
            role=role,
            password=self.passwords.hashed(check_password(wanted.password, name)),
        )
        return self.book.add(new, instruction, only_first=only_first)


def _require_no_more(instruction: Instruction, role: Role) -> None:
    for permission in sorted(GRANTS[role]):
        instruction.require(permission)
