"""All that changes a row together with its record, each as one deed.

python -m tests.recording.deeds ACTION URL       does it, in a process of its own
"""

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Final
from uuid import UUID

from application.access.access import Access
from application.access.people import WantedPerson
from application.access.tokens import Wanted
from application.evidence.port import Evidence
from application.operators.instruction import instruct
from application.operators.taken import Deed, taken
from application.providers import limiting
from domain.access.audience import Audience
from domain.access.permissions import Permission
from domain.access.roles import Role
from domain.operators import actions
from domain.operators.events import ActionTaken
from infrastructure.access.passwords import Argon2Passwords
from infrastructure.access.wiring import access_over
from infrastructure.guards.limits import PostgresLimitBook
from infrastructure.guards.quarantine import PostgresRestoreGuard
from infrastructure.ids import new_id
from infrastructure.postgres.batch_store import BatchStore
from infrastructure.postgres.database import Database
from infrastructure.postgres.streams import PostgresStreams
from infrastructure.projecting.switches import projections_over
from infrastructure.providers.registry.wiring import configure_over
from infrastructure.queues.wiring import control_queues_over, drain_worker_over
from infrastructure.reviews.evidence import PostgresEvidenceBook
from infrastructure.settings import Settings
from tests.access.world import HOME
from tests.fixtures.http import PASSWORD, QUICK

WHY: Final = instruct("ada", "the test wants it")
BOOT: Final = UUID(int=7)
DELIVERY: Final = UUID(int=8)
TABLES: Final = (
    *("projections", "queues", "workers", "goods_providers", "goods_limits"),
    *("restore_guard", "api_tokens", "people", "sessions", "delivery_evidence"),
)


@dataclass(frozen=True)
class World:
    """One installation, over connections that may be lost."""

    pool: Database

    @property
    def access(self) -> Access:
        passwords = Argon2Passwords(QUICK)
        return access_over(self.pool, self.units, Settings(), passwords)

    @property
    def units(self) -> BatchStore:
        return BatchStore(self.pool)

    def live_in(self) -> None:
        """Let everything be there that deeds are about."""
        self.access.tokens.create(token("shop"), WHY)
        self.access.people.add(person("grace"), WHY)
        configure(self, "cards")
        with self.pool.connection() as connection:
            connection.execute(
                """
                INSERT INTO counterfoil.workers (boot_id, host, pid, kinds)
                VALUES (%(boot)s, 'here', 1, '{}')
                """,
                {"boot": BOOT},
            )
        sign_in(self)

    def rows(self) -> dict[str, str]:
        """Return every table that deeds change, as text."""
        with self.pool.connection() as connection:
            return {
                table: str(connection.execute(_all_of(table)).fetchone())
                for table in TABLES
            }

    def actions(self) -> list[str]:
        """Return what is on record, in order."""
        with self.pool.connection() as connection:
            found = connection.execute(
                """
                SELECT data->>'action' FROM counterfoil.events
                 WHERE type = 'operator.action_taken' ORDER BY position
                """
            )
            return [str(action) for (action,) in found]


def _all_of(table: str) -> bytes:
    return f"SELECT json_agg(t ORDER BY t::text) FROM counterfoil.{table} t".encode()  # noqa: S608 - a table's name


def token(name: str) -> Wanted:
    return Wanted(
        tenant_id="default",
        name=name,
        surface="shop",
        scopes=(Permission.JOBS_READ,),
    )


def person(name: str, role: Role = Role.OPERATOR) -> WantedPerson:
    return WantedPerson(tenant_id="default", name=name, role=role, password=PASSWORD)


def configure(world: World, slug: str = "stars") -> None:
    people = configure_over(world.pool, None, world.units)
    assert people.configure("default", slug, "fragment", WHY).position


def limit(world: World) -> None:
    limits = limiting.LimitProviders(PostgresLimitBook(world.pool), world.units, new_id)
    wanted = limiting.Wanted(currency="EUR", spend_limit_minor=700)
    assert limits.limit("default", "cards", wanted, WHY).events == ("provider.limited",)


def engage(world: World) -> None:
    told = PostgresRestoreGuard(world.pool).engage(("operator",), WHY.meta("guard"))
    assert told.is_new


def pause_projection(world: World) -> None:
    told = projections_over(world.pool, world.units).pause("jobs", WHY)
    assert told.events == ("projection.paused",)


def pause_queue(world: World) -> None:
    until = PostgresStreams(world.pool).clock() + timedelta(hours=1)
    told = control_queues_over(world.pool, world.units).pause("bulk", until, WHY)
    assert told.after.version == 1


def drain(world: World) -> None:
    told = drain_worker_over(world.pool, world.units)(str(BOOT), WHY)
    assert told.after.draining_since is not None


def add_evidence(world: World) -> None:
    evidence = Evidence(
        tenant_id="default",
        delivery=DELIVERY,
        sha256=bytes(32),
        size_bytes=1,
        media_type="text/plain",
        added_by="ada",
    )

    def told(is_new: bool) -> ActionTaken:  # noqa: FBT001 - as it is told
        deed = Deed(
            action=actions.EVIDENCE_ADDED,
            target_kind="delivery",
            target=str(DELIVERY),
        )
        return taken(deed, {}, {"is_new": is_new})

    book = PostgresEvidenceBook(world.pool)
    assert book.add(evidence, told, WHY.meta("delivery")).is_new


def create(world: World) -> None:
    assert opens(world, world.access.tokens.create(token("webshop"), WHY).text)


def rotate(world: World) -> None:
    assert opens(world, world.access.tokens.rotate("shop", WHY).text)


def opens(world: World, text: str) -> bool:
    return world.access.authenticate.token(text, Audience.SHOP, HOME) is not None


def revoke(world: World) -> None:
    assert world.access.tokens.revoke("shop", WHY).token.state == "revoked"


def add(world: World) -> None:
    assert world.access.people.add(person("bob"), WHY).person.name == "bob"


def demote(world: World) -> None:
    kept = world.access.people.set_role("grace", "viewer", WHY)
    assert kept.person.role == "viewer"


def disable(world: World) -> None:
    kept = world.access.people.set_disabled("grace", WHY, disabled=True)
    assert kept.person.state == "disabled"


def sign_in(world: World) -> None:
    signed_in = world.access.sign_in("grace", PASSWORD, address=HOME)
    assert world.access.authenticate.session(signed_in.cookie) is not None


def sign_out(world: World) -> None:
    with world.pool.connection() as connection:
        row = connection.execute("SELECT digest FROM counterfoil.sessions").fetchone()
    assert row is not None
    assert isinstance(row[0], bytes)
    world.access.sign_in.sessions.end(row[0], None)


DEEDS: Final[Mapping[str, Callable[[World], None]]] = {
    actions.PROJECTION_PAUSED: pause_projection,
    actions.QUEUE_PAUSED: pause_queue,
    actions.WORKER_DRAINED: drain,
    actions.PROVIDER_CONFIGURED: configure,
    actions.PROVIDER_LIMITED: limit,
    actions.GUARD_ENGAGED: engage,
    actions.EVIDENCE_ADDED: add_evidence,
    actions.TOKEN_CREATED: create,
    actions.TOKEN_ROTATED: rotate,
    actions.TOKEN_REVOKED: revoke,
    actions.PERSON_CREATED: add,
    actions.PERSON_ROLE_CHANGED: demote,
    actions.PERSON_DISABLED: disable,
    actions.SESSION_BEGAN: sign_in,
    actions.SESSION_ENDED: sign_out,
}


def main() -> None:
    action, url = sys.argv[1:]
    with Database(url, pool_size=2) as pool:
        DEEDS[action](World(pool))


if __name__ == "__main__":
    main()
