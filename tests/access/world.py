"""What tests of identity say: somebody asks for something; this is on record."""

from datetime import timedelta
from typing import Any, Final, LiteralString

import msgspec

from application.access.people import Person, WantedPerson
from application.access.signing_in import SignedIn
from application.access.tokens import Made, Wanted
from application.operators.instruction import Instruction, instruct
from domain.access.permissions import Permission
from domain.access.roles import GRANTS, Role
from infrastructure.access.passwords import Argon2Passwords
from infrastructure.access.wiring import access_over
from infrastructure.postgres.batch_store import BatchStore
from infrastructure.postgres.database import Database
from infrastructure.settings import Settings
from tests.fixtures.database import TestDatabase
from tests.fixtures.http import PASSWORD, QUICK

HOME: Final = "192.0.2.7"
OPERATOR_TOKEN: Final = "0123456789abcdef" * 2


class World:
    """One installation."""

    def __init__(self, server: TestDatabase, database: Database) -> None:
        self.server = server
        self.database = database
        self.settings = Settings(operator_token=OPERATOR_TOKEN)
        self.access = access_over(
            database, BatchStore(database), self.settings, Argon2Passwords(QUICK)
        )

    @property
    def shell(self) -> Instruction:
        """Whoever has the command line."""
        return instruct("ada", "the test wants it")

    def as_role(self, role: Role, tenant_id: str = "default") -> Instruction:
        """Whoever has that role in that tenant."""
        return self.allowed(*GRANTS[role], tenant_id=tenant_id)

    def allowed(
        self, *permissions: Permission, tenant_id: str = "default"
    ) -> Instruction:
        """Whoever may do that, in that tenant."""
        return msgspec.structs.replace(
            self.shell, permissions=frozenset(permissions), tenant_id=tenant_id
        )

    def token(
        self,
        *scopes: Permission,
        name: str = "shop",
        surface: str = "shop",
        tenant_id: str = "default",
        expires_in_days: int = 90,
        allowed_from: tuple[str, ...] = (),
    ) -> Made:
        """Return a new token."""
        wanted = Wanted(
            tenant_id=tenant_id,
            name=name,
            surface=surface,
            scopes=scopes,
            expires_in_days=expires_in_days,
            allowed_from=allowed_from,
        )
        return self.access.tokens.create(wanted, self.shell)

    def wanted(self, name: str, role: Role, tenant_id: str = "default") -> WantedPerson:
        """Return somebody as they are asked for."""
        return WantedPerson(
            tenant_id=tenant_id, name=name, role=role, password=PASSWORD
        )

    def person(
        self,
        name: str = "grace",
        role: Role = Role.OPERATOR,
        tenant_id: str = "default",
    ) -> Person:
        """Return somebody new."""
        wanted = self.wanted(name, role, tenant_id)
        return self.access.people.add(wanted, self.shell).person

    def signed_in(
        self, name: str = "grace", password: str = PASSWORD, cookie: str = ""
    ) -> SignedIn:
        """Return a session of somebody."""
        return self.access.sign_in(name, password, address=HOME, cookie=cookie)

    def is_in(self, signed_in: SignedIn) -> bool:
        """Whether that session is one still."""
        return self.access.authenticate.session(signed_in.cookie) is not None

    def facts(self, tag: str = "operator.action_taken") -> list[tuple[str, ...]]:
        """Return action, target's kind and actor of what is on record, in order."""
        rows = self.rows(
            "SELECT data->>'action', data->>'target_kind', meta->'actor'->>'id' "
            "  FROM counterfoil.events WHERE type = %(tag)s ORDER BY position",
            tag=tag,
        )
        return [tuple(map(str, row)) for row in rows]

    def rows(self, statement: LiteralString, **named: object) -> list[tuple[Any, ...]]:
        """Return what a query finds."""
        with self.database.connection() as connection:
            return connection.execute(statement, named).fetchall()

    def passes(self, **time: float) -> None:
        """Let time pass for everybody."""
        self.server.advance(timedelta(**time))
