"""A provider is what its row and its credential say at the moment of the call."""

import dataclasses
from collections.abc import Iterator
from typing import Any, cast

import msgspec
import psycopg
import pytest

from application.goods.port import GoodsProvider, Unconfigured
from application.providers.book import Provider
from application.providers.credential import Credential
from infrastructure.errors import DatabaseUnavailableError
from infrastructure.postgres.database import Database
from infrastructure.providers.goods.fragment import FragmentGateway
from infrastructure.providers.goods.idempotent import IdempotentProvider
from infrastructure.providers.registry.providers import PostgresProviders
from infrastructure.providers.registry.rows import write_provider
from infrastructure.providers.registry.wiring import providers_over
from infrastructure.seals.key_ring import KeyRing
from infrastructure.telemetry import listen
from tests.fixtures.database import TestDatabase

pytestmark = pytest.mark.database

OLD = KeyRing({"k1": bytes(range(32))})
RING = KeyRing({"k2": bytes(range(1, 33)), "k1": bytes(range(32))})
CREDENTIAL = Credential(
    base_url="https://gateway.example",
    token="token-1",  # noqa: S106 - a test's
    currency="EUR",
)
ROTATED = msgspec.structs.replace(CREDENTIAL, token="token-2")  # noqa: S106 - a test's


@dataclasses.dataclass(frozen=True)
class Built:
    """A provider, as far as this test goes: what it was made of."""

    adapter: str
    credential: Credential


def build(adapter: str, credential: Credential) -> GoodsProvider | None:
    if adapter != "fragment":
        return None
    return cast("GoodsProvider", Built(adapter, credential))


@pytest.fixture
def pool(database: TestDatabase) -> Iterator[Database]:
    with Database(database.conninfo, pool_size=2) as pool:
        yield pool


@pytest.fixture
def connection(database: TestDatabase) -> psycopg.Connection[Any]:
    return database.connect()


@pytest.fixture
def providers(pool: Database) -> PostgresProviders:
    return PostgresProviders(pool, RING, build)


def configured(
    connection: psycopg.Connection[Any],
    credential: Credential | None = CREDENTIAL,
    ring: KeyRing = RING,
    slug: str = "stars",
) -> Provider:
    """Write a row as an operator would."""
    provider = Provider(
        tenant_id="default", slug=slug, adapter="fragment", is_enabled=True
    )
    if credential is not None:
        provider = sealed_into(provider, credential, ring)
    write_provider(connection, provider, is_new=True, is_given=credential is not None)
    return provider


def sealed_into(provider: Provider, credential: Credential, ring: KeyRing) -> Provider:
    return msgspec.structs.replace(
        provider,
        base_url=credential.base_url,
        currency=credential.currency,
        sealed=ring.seal(credential.written(), provider.place),
    )


def test_a_provider_is_made_of_its_adapter_and_its_credential(
    providers: PostgresProviders, connection: psycopg.Connection[Any]
) -> None:
    configured(connection)

    found: object = providers.find("default", "stars")

    assert found == Built("fragment", CREDENTIAL)


def test_a_credential_that_an_old_key_has_sealed_is_read(
    providers: PostgresProviders, connection: psycopg.Connection[Any]
) -> None:
    configured(connection, ring=OLD)

    found: object = providers.find("default", "stars")
    assert found == Built("fragment", CREDENTIAL)


def test_another_credential_is_used_by_the_next_call(
    providers: PostgresProviders, connection: psycopg.Connection[Any]
) -> None:
    provider = configured(connection)
    providers.find("default", "stars")

    now = sealed_into(provider, ROTATED, RING)
    write_provider(connection, now, is_new=False, is_given=True)

    found: object = providers.find("default", "stars")
    assert found == Built("fragment", ROTATED)


def test_a_disabled_provider_is_still_asked_what_became_of_a_purchase(
    providers: PostgresProviders, connection: psycopg.Connection[Any]
) -> None:
    configured(connection)
    connection.execute("UPDATE counterfoil.goods_providers SET is_enabled = false")

    found = providers.find("default", "stars")

    assert isinstance(found, Unconfigured)
    assert found.detail == "provider stars is disabled"
    asked: object = found.asked
    assert asked == Built("fragment", CREDENTIAL)


def refusal(providers: PostgresProviders, tenant: str = "default") -> str:
    found = providers.find(tenant, "stars")
    assert isinstance(found, Unconfigured)
    assert found.code == "provider_unconfigured"
    assert "token-1" not in found.detail
    return found.detail


def test_a_provider_that_cannot_be_used_says_why(
    pool: Database, providers: PostgresProviders, connection: psycopg.Connection[Any]
) -> None:
    assert refusal(providers) == "there is no provider stars"

    provider = configured(connection, None)
    assert refusal(providers) == "the credential of provider stars is not set"
    assert refusal(providers, "other") == "there is no provider stars"

    sealed = sealed_into(provider, CREDENTIAL, OLD)
    write_provider(connection, sealed, is_new=False, is_given=True)
    without = PostgresProviders(pool, KeyRing({"k2": bytes(range(1, 33))}), build)
    assert "provider stars is sealed by key k1, which is missing" in refusal(without)
    keyless = PostgresProviders(pool, None, build)
    assert refusal(keyless).endswith("COUNTERFOIL_DATA_ENCRYPTION_KEYS is not set")
    another = PostgresProviders(pool, KeyRing({"k1": bytes(range(2, 34))}), build)
    assert "provider stars does not open under key k1" in refusal(another)


@pytest.mark.parametrize(
    ("change", "detail"),
    [
        ("is_enabled = false", "provider stars is disabled"),
        ("adapter = 'carrier-pigeon'", "this version has no adapter carrier-pigeon"),
        (
            "base_url = 'https://thief.example'",
            "the credential of provider stars is for another address than its row says",
        ),
        ("slug = 'stars'", "there is no provider stars"),
        (
            "credential = overlay(credential PLACING 'x'::bytea FROM 14)",
            "the credential of provider stars does not open under key k2",
        ),
    ],
)
def test_a_row_that_is_changed_by_hand_says_why_it_is_not_used(
    change: str,
    detail: str,
    providers: PostgresProviders,
    connection: psycopg.Connection[Any],
) -> None:
    configured(connection, slug="moved" if "slug" in change else "stars")
    where = "false" if "slug" in change else "true"
    statement = f"UPDATE counterfoil.goods_providers SET {change} WHERE {where}"  # noqa: S608
    connection.execute(statement.encode())

    assert refusal(providers) == detail


@pytest.mark.parametrize(
    "moved",
    ["slug = 'stars' WHERE slug = 'moved'", "tenant_id = 'other'"],
)
def test_a_credential_that_is_moved_to_another_row_does_not_open(
    moved: str, providers: PostgresProviders, connection: psycopg.Connection[Any]
) -> None:
    tenant = "other" if "tenant" in moved else "default"
    configured(connection, slug="stars" if "tenant" in moved else "moved")

    statement = f"UPDATE counterfoil.goods_providers SET {moved}"  # noqa: S608
    connection.execute(statement.encode())

    assert "does not open under key k2" in refusal(providers, tenant)


def test_what_another_version_has_sealed_is_not_guessed_at(
    providers: PostgresProviders, connection: psycopg.Connection[Any]
) -> None:
    provider = configured(connection)
    strange = RING.seal(b'{"baseUrl": "https://gateway.example"}', provider.place)
    connection.execute(
        "UPDATE counterfoil.goods_providers SET credential = %(content)b",
        {"content": strange.content},
    )

    assert (
        refusal(providers)
        == "the credential of provider stars is none of this version's"
    )


def test_a_database_that_is_away_is_no_missing_configuration(pool: Database) -> None:
    pool.close()

    with pytest.raises(DatabaseUnavailableError):
        PostgresProviders(pool, RING, build).find("default", "stars")


@pytest.mark.parametrize(
    ("adapter", "made"),
    [("fragment", FragmentGateway), ("idempotent", IdempotentProvider)],
)
def test_each_adapter_that_can_be_configured_is_made(
    adapter: str, made: type, pool: Database, connection: psycopg.Connection[Any]
) -> None:
    configured(connection)
    connection.execute(
        "UPDATE counterfoil.goods_providers SET adapter = %(adapter)s",
        {"adapter": adapter},
    )

    found = providers_over(pool, RING).find("default", "stars")

    assert type(found) is made
    assert "token-1" not in repr(found)


def test_what_is_the_matter_is_logged_once_an_episode(
    pool: Database, connection: psycopg.Connection[Any]
) -> None:
    provider = configured(connection, None)
    providers = PostgresProviders(pool, RING, build)
    told: list[tuple[str, object]] = []
    with listen(lambda event, values: told.append((event, values.get("problem")))):
        for _ in range(3):
            providers.find("default", "stars")
        sealed = sealed_into(provider, CREDENTIAL, OLD)
        write_provider(connection, sealed, is_new=False, is_given=True)
        for _ in range(3):
            providers.find("default", "stars")
        connection.execute("UPDATE counterfoil.goods_providers SET is_enabled = false")
        providers.find("default", "stars")

    assert told == [
        ("provider unusable", "the credential of provider stars is not set"),
        ("provider usable again", None),
        ("provider unusable", "provider stars is disabled"),
    ]
