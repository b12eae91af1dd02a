"""Keys and tokens change under workers that buy: each call finds what is current."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from msgspec.structs import replace

from application.goods.port import GoodsProvider, Unconfigured
from application.operators.instruction import instruct
from application.providers.credential import Credential
from infrastructure.postgres.batch_store import BatchStore
from infrastructure.postgres.database import Database
from infrastructure.providers.registry.providers import PostgresProviders
from infrastructure.providers.registry.wiring import configure_over
from infrastructure.seals.key_ring import KeyRing
from tests.fixtures.database import TestDatabase

pytestmark = pytest.mark.database

K1, K2 = (bytes(range(n, n + 32)) for n in (1, 2))
BEFORE = KeyRing({"k1": K1, "k2": K2})
AFTER = KeyRing({"k2": K2, "k1": K1})
FIRST = Credential(base_url="https://gateway.example", token="token-0")  # noqa: S106 - a test's
WHY = instruct("ann", "the yearly rotation")
SLUGS = ("stars", "premium", "cards")


@pytest.fixture
def pool(database: TestDatabase) -> Iterator[Database]:
    with Database(database.conninfo, pool_size=6) as pool:
        yield pool


class Worker:
    """Finds providers again and again, as the handlers of one process do."""

    def __init__(self, pool: Database, ring: KeyRing) -> None:
        self.seen: list[Credential] = []
        self.refused: list[Unconfigured] = []
        self._providers = PostgresProviders(pool, ring, self._keep)

    def _keep(self, adapter: str, credential: Credential) -> GoodsProvider | None:
        del adapter
        self.seen.append(credential)
        return None  # whoever builds it is not this test's concern

    def find(self, slug: str) -> Credential | None:
        """Return the credential that a call would be made with now."""
        before = len(self.seen)
        found = self._providers.find("default", slug)
        if len(self.seen) > before:
            return self.seen[-1]
        assert isinstance(found, Unconfigured)
        self.refused.append(found)
        return None

    def work(self, stop: threading.Event) -> None:
        while not stop.is_set():
            for slug in SLUGS:
                self.find(slug)


def test_no_call_misses_its_credential_while_keys_and_tokens_change(
    pool: Database,
) -> None:
    old = configure_over(pool, BEFORE, BatchStore(pool))
    for slug in SLUGS:
        old.configure("default", slug, "fragment", WHY)
        old.set_credential("default", slug, FIRST, WHY)
    # Two that were restarted with the new order of keys, one that was not yet.
    workers = [Worker(pool, ring) for ring in (AFTER, AFTER, BEFORE)]
    witness = Worker(pool, AFTER)
    stop = threading.Event()
    with ThreadPoolExecutor(len(workers)) as threads:
        working = [threads.submit(each.work, stop) for each in workers]
        try:
            for n in range(1, 4):
                ring = AFTER if n % 2 else BEFORE
                people = configure_over(pool, ring, BatchStore(pool))
                people.reseal(WHY)
                for slug in SLUGS:
                    people.rotate_credential("default", slug, f"token-{n}", WHY)
                    assert witness.find(slug) == replace(FIRST, token=f"token-{n}")
        finally:
            stop.set()
        for each in working:
            each.result()

    assert all(worker.refused == [] for worker in workers)
    given = {f"token-{n}" for n in range(4)}
    for worker in workers:
        assert {each.token for each in worker.seen} <= given
        assert "token-3" in {worker.find(slug).token for slug in SLUGS}  # type: ignore[union-attr]
