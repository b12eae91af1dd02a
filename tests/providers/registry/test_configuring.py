"""Each change of a provider and its event are one; refusals are on record as well."""

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
import pytest
from msgspec.structs import replace

from application.errors import (
    CredentialUnreadableError,
    NoKeyError,
    NotFoundError,
    ProviderInUseError,
)
from application.operators.instruction import instruct
from application.providers.changes import REST
from application.providers.configuring import ConfigureProviders
from application.providers.credential import Credential
from application.providers.opening import credential_in
from application.unit import Refused, Written
from domain.errors import InvalidRequestError
from domain.goods.commands import Confirm, GoodsCommand, LoseTrack, OpenReview
from infrastructure.guards.journal import FileJournal
from infrastructure.postgres.batch_store import BatchStore
from infrastructure.postgres.database import Database
from infrastructure.providers.registry.wiring import configure_over
from infrastructure.seals.key_ring import KeyRing
from projections.queries.records.audit import AuditList
from projections.queries.terms import Asked
from tests.fixtures.database import TestDatabase
from tests.fixtures.read_models import project
from tests.fixtures.workers import until
from tests.guards.buyer import Buyer

pytestmark = pytest.mark.database

K1, K2 = (bytes(range(n, n + 32)) for n in (1, 2))
OLD = KeyRing({"k1": K1})
RING = KeyRing({"k2": K2, "k1": K1})
FIRST = Credential(
    base_url="https://gateway.example/v1",
    token="token-1",  # noqa: S106 - a test's
    currency="EUR",
)
WHY = instruct("ann", "the first contract")
LATER = instruct("bob", "the token leaked")


def wired(pool: Database, ring: KeyRing | None = RING) -> ConfigureProviders:
    return configure_over(pool, ring, BatchStore(pool))


@pytest.fixture
def pool(database: TestDatabase) -> Iterator[Database]:
    with Database(database.conninfo, pool_size=4) as pool:
        yield pool


@pytest.fixture
def providers(pool: Database) -> ConfigureProviders:
    return wired(pool)


@pytest.fixture
def connection(database: TestDatabase) -> psycopg.Connection[Any]:
    return database.connect()


def recorded(connection: psycopg.Connection[Any]) -> list[tuple[Any, ...]]:
    return connection.execute(
        """
        SELECT tenant_id, type, data, meta->'actor'->>'id', meta->>'reason'
          FROM counterfoil.events
         WHERE type <> 'operator.action_taken'
         ORDER BY position
        """
    ).fetchall()


def tags(connection: psycopg.Connection[Any]) -> list[str]:
    return [row[1] for row in recorded(connection)]


def credential_of(providers: ConfigureProviders, slug: str = "stars") -> Any:  # noqa: ANN401 - or why not
    found = providers.book.find("default", slug)
    assert found is not None
    return credential_in(found, providers.seals)


def test_a_provider_is_configured_step_by_step_and_each_is_on_record(
    providers: ConfigureProviders, connection: psycopg.Connection[Any]
) -> None:
    providers.configure("default", "stars", "fragment", WHY)
    providers.set_credential("default", "stars", FIRST, WHY)
    told = providers.rotate_credential("default", "stars", "token-2", LATER)
    providers.disable("default", "stars", LATER)
    providers.enable("default", "stars", LATER)

    assert told.events == ("credential.rotated",)
    assert (told.adapter, told.is_enabled, told.key) == ("fragment", True, "k2")
    assert credential_of(providers) == replace(FIRST, token="token-2")  # noqa: S106 - a test's
    name = {"provider": "stars"}
    by_ann, by_bob = ("ann", "the first contract"), ("bob", "the token leaked")
    given = {"host": "gateway.example", "currency": "EUR", "key": "k2"}
    assert recorded(connection) == [
        ("default", "provider.configured", name | {"adapter": "fragment"}, *by_ann),
        ("default", "credential.set", name | given, *by_ann),
        ("default", "credential.rotated", name | {"key": "k2"}, *by_bob),
        ("default", "provider.disabled", name, *by_bob),
        ("default", "provider.enabled", name, *by_bob),
    ]


def test_the_same_once_more_writes_nothing_and_tells_where_it_was_written(
    providers: ConfigureProviders, connection: psycopg.Connection[Any]
) -> None:
    providers.configure("default", "stars", "fragment", WHY)
    first = providers.set_credential("default", "stars", FIRST, WHY)
    before = connection.execute("SELECT * FROM counterfoil.goods_providers").fetchall()

    again = providers.set_credential("default", "stars", FIRST, LATER)

    assert (again.events, again.key) == ((), "k2")
    assert again.position >= first.position > 0
    after = connection.execute("SELECT * FROM counterfoil.goods_providers").fetchall()
    assert after == before


def test_tenants_have_providers_of_their_own(
    providers: ConfigureProviders, connection: psycopg.Connection[Any]
) -> None:
    for tenant, token in (("one", "t1"), ("two", "t2")):
        providers.configure(tenant, "stars", "fragment", WHY)
        providers.set_credential(tenant, "stars", replace(FIRST, token=token), WHY)

    found = providers.book.all()

    assert [each.tenant_id for each in found] == ["one", "two"]
    opened = [credential_in(each, RING) for each in found]
    assert opened == [replace(FIRST, token="t1"), replace(FIRST, token="t2")]  # noqa: S106 - a test's
    assert [row[0] for row in recorded(connection)] == ["one", "one", "two", "two"]


def test_what_is_refused_changes_nothing_and_is_on_record(
    providers: ConfigureProviders,
    pool: Database,
    connection: psycopg.Connection[Any],
) -> None:
    with pytest.raises(NotFoundError, match="there is no provider stars"):
        providers.set_credential("default", "stars", FIRST, WHY)
    providers.configure("default", "stars", "fragment", WHY)
    with pytest.raises(CredentialUnreadableError, match="is not set"):
        providers.rotate_credential("default", "stars", "token-2", WHY)
    providers.set_credential("default", "stars", FIRST, WHY)
    with pytest.raises(ProviderInUseError, match="disable it first"):
        providers.configure("default", "stars", "idempotent", WHY)

    refused = [row[2] for row in recorded(connection) if row[1].startswith("operator")]
    assert refused == [
        {"action": action, "target": "provider:stars", "code": code}
        for action, code in (
            ("set_credential", "not_found"),
            ("rotate_credential", "credential_unreadable"),
            ("configure_provider", "provider_in_use"),
        )
    ]
    assert tags(connection).count("provider.configured") == 1
    with pytest.raises(NoKeyError, match="credentials make-key"):
        wired(pool, None).set_credential("default", "stars", FIRST, WHY)


@pytest.mark.parametrize("slug", ["", "x", "Stars", "1st", "st ars", "s" * 33, "ü2"])
def test_a_name_that_is_none_is_refused(
    slug: str, providers: ConfigureProviders, connection: psycopg.Connection[Any]
) -> None:
    with pytest.raises(InvalidRequestError, match="a letter first"):
        providers.configure("default", slug, "fragment", WHY)
    with pytest.raises(InvalidRequestError, match="fragment, idempotent"):
        providers.configure("default", "stars", "pigeon", WHY)

    assert recorded(connection) == []


@pytest.mark.parametrize(
    "before",
    [(), (LoseTrack(code="timeout", is_sender_gone=True), OpenReview("timeout"))],
    ids=["submitted", "in review"],
)
def test_its_address_stays_while_a_delivery_that_was_asked_of_it_is_open(
    before: tuple[GoodsCommand, ...],
    providers: ConfigureProviders,
    pool: Database,
    database: TestDatabase,
    tmp_path: Path,
) -> None:
    providers.configure("default", "stars", "fragment", WHY)
    providers.set_credential("default", "stars", FIRST, WHY)
    buyer = Buyer(pool, FileJournal(tmp_path))
    (delivery,) = buyer.owe()
    for command in (None, *before):
        assert isinstance(buyer.command(delivery, command), Written)
    providers.disable("default", "stars", WHY)
    moved = replace(FIRST, base_url="https://elsewhere.example")

    with pytest.raises(
        ProviderInUseError, match="one delivery that it was asked for is not"
    ):
        providers.set_credential("default", "stars", moved, WHY)
    assert credential_of(providers) == FIRST
    told = buyer.command(delivery, Confirm(decision=1, reference=None))
    assert isinstance(told, Written)
    with pytest.raises(ProviderInUseError, match="before it was disabled may go on"):
        providers.set_credential("default", "stars", moved, WHY)
    database.advance(REST)
    providers.rotate_credential("default", "stars", "token-2", WHY)
    providers.set_credential("default", "stars", moved, WHY)

    assert credential_of(providers) == moved


@pytest.mark.parametrize("stage", ["pending", "failed"])
def test_what_an_older_database_may_have_lost_is_open_at_its_address(
    stage: str, providers: ConfigureProviders, pool: Database, tmp_path: Path
) -> None:
    providers.configure("default", "stars", "fragment", WHY)
    providers.set_credential("default", "stars", FIRST, WHY)
    buyer = Buyer(pool, FileJournal(tmp_path))
    (delivery,) = buyer.owe()
    with pool.connection() as connection:
        connection.execute(
            """
            UPDATE counterfoil.deliveries
               SET restored_at = counterfoil.now(), state = %(stage)s, code = 'x'
             WHERE stream_id = %(id)s
            """,
            {"stage": stage, "id": delivery.id},
        )
    providers.disable("default", "stars", WHY)

    with pytest.raises(
        ProviderInUseError, match="one delivery that it was asked for is not"
    ):
        providers.configure("default", "stars", "idempotent", WHY)


def test_once_it_is_disabled_nothing_more_is_submitted_to_it(
    providers: ConfigureProviders, pool: Database, tmp_path: Path
) -> None:
    """Not even by whoever has found it enabled before."""
    providers.configure("default", "stars", "fragment", WHY)
    buyer = Buyer(pool, FileJournal(tmp_path))
    (delivery,) = buyer.owe()

    providers.disable("default", "stars", WHY)

    assert buyer.command(delivery) == Refused("provider_unconfigured")
    providers.enable("default", "stars", WHY)
    assert isinstance(buyer.command(delivery), Written)


def test_everything_is_sealed_by_the_active_key_and_what_does_not_open_is_told(
    pool: Database, connection: psycopg.Connection[Any]
) -> None:
    old = wired(pool, OLD)
    for slug in ("one", "two", "lost", "bare"):
        old.configure("default", slug, "fragment", WHY)
        if slug != "bare":
            old.set_credential("default", slug, replace(FIRST, token=slug), WHY)
    connection.execute(
        """
        UPDATE counterfoil.goods_providers SET credential_key = 'k0'
         WHERE slug = 'lost'
        """
    )
    new = wired(pool)

    told = new.reseal(LATER)

    assert told.key == "k2"
    assert [each.provider for each in told.resealed] == ["one", "two"]
    ((lost, problem),) = [(each.provider, each.problem) for each in told.unreadable]
    assert lost == "lost"
    assert "is sealed by key k0, which is missing" in problem
    assert tags(connection)[-3:] == [
        "operator.action_refused",
        "credential.resealed",
        "credential.resealed",
    ]
    assert credential_of(wired(pool, KeyRing({"k2": K2})), "two") == (
        replace(FIRST, token="two")  # noqa: S106 - a test's
    )
    assert new.reseal(LATER).resealed == ()


def test_a_key_is_dropped_when_it_seals_nothing(pool: Database) -> None:
    old = wired(pool, OLD)
    old.configure("default", "stars", "fragment", WHY)
    old.set_credential("default", "stars", FIRST, WHY)
    new = wired(pool)

    before = new.look.credentials()
    new.reseal(LATER)
    after = new.look.credentials()

    def told(page: Any) -> list[tuple[Any, ...]]:  # noqa: ANN401 - a page
        return [(key.key, key.seals, key.can_be_dropped) for key in page.keys]

    assert told(before) == [("k2", 0, False), ("k1", 1, False)]
    assert told(after) == [("k2", 1, False), ("k1", 0, True)]
    assert after.credentials[0].given_at == before.credentials[0].given_at
    lost = wired(pool, OLD).look.credentials()
    assert [(key.key, key.is_here) for key in lost.keys] == [
        ("k1", True),
        ("k2", False),
    ]
    assert lost.credentials[0].problem == "it is sealed by key k2, which is missing"


def waits(connection: psycopg.Connection[Any], n: int) -> bool:
    """Return whether so many wait for a lock."""
    ((found,),) = connection.execute(
        """
        SELECT count(*) FROM pg_stat_activity
         WHERE datname = current_database() AND wait_event_type = 'Lock'
        """
    ).fetchall()
    return bool(found >= n)


@pytest.mark.parametrize("is_set_first", [True, False])
def test_a_new_credential_and_another_key_at_once_lose_neither(
    is_set_first: bool,  # noqa: FBT001 - a parameter
    database: TestDatabase,
    pool: Database,
    connection: psycopg.Connection[Any],
) -> None:
    old = wired(pool, OLD)
    old.configure("default", "stars", "fragment", WHY)
    old.set_credential("default", "stars", FIRST, WHY)
    new, second = wired(pool), replace(FIRST, token="token-2")  # noqa: S106 - a test's
    acts: list[Callable[[], object]] = [
        partial(new.set_credential, "default", "stars", second, LATER),
        partial(new.reseal, LATER),
    ]
    holder = database.connect()
    with ThreadPoolExecutor(2) as threads:
        with holder.transaction():
            holder.execute("SELECT 1 FROM counterfoil.goods_providers FOR UPDATE")
            begun: list[Future[object]] = []
            for n, act in enumerate(acts if is_set_first else acts[::-1], 1):
                begun.append(threads.submit(act))
                until(partial(waits, connection, n))
        for each in begun:
            each.result()

    assert credential_of(wired(pool, KeyRing({"k2": K2}))) == second
    after = ["credential.set"]
    assert tags(connection)[2:] == (
        after if is_set_first else ["credential.resealed", *after]
    )


def test_of_two_who_make_one_provider_at_once_both_are_told_that_it_is_there(
    providers: ConfigureProviders, connection: psycopg.Connection[Any]
) -> None:
    with ThreadPoolExecutor(4) as threads:
        make = partial(providers.configure, "default", "stars", "fragment", WHY)
        made = [each.result() for each in [threads.submit(make) for _ in range(4)]]

    assert {each.adapter for each in made} == {"fragment"}
    assert tags(connection) == ["provider.configured"]


def test_the_audit_tells_who_changed_which_provider_and_what_was_refused(
    pool: Database, providers: ConfigureProviders
) -> None:
    """I9: the target is the provider by its name, whatever was done to it."""
    providers.configure("default", "stars", "fragment", WHY)
    providers.set_credential("default", "stars", FIRST, WHY)
    with pytest.raises(NotFoundError):
        providers.rotate_credential("default", "cards", "token-2", LATER)

    project(pool)

    lines = {line.action: line for line in AuditList(pool.connection)(Asked()).items}
    told = {
        action: (it.actor_id, it.target, it.target_kind, it.outcome, it.reason)
        for action, it in lines.items()
    }
    by_ann = ("provider", "accepted", "the first contract")
    assert told == {
        "provider.configured": ("ann", "provider:stars", *by_ann),
        "credential.set": ("ann", "provider:stars", *by_ann),
        "rotate_credential": (
            *("bob", "provider:cards", "provider", "refused", "the token leaked"),
        ),
    }
