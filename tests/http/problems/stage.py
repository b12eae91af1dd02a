"""An installation that can be brought to refuse whatever may be refused."""

from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Final, cast
from uuid import UUID, uuid4

import httpx
import psycopg
from psycopg.types.json import Jsonb

from api.http.app import application, enveloped
from api.http.protocol import Patience
from api.http.server import HttpServer
from api.http.surface import Surface
from infrastructure.installation import Services
from infrastructure.live.feed import Feed, FeedLimits
from infrastructure.settings import Settings
from tests.callbacks.stage import RING, configure
from tests.fixtures.database import TestDatabase
from tests.fixtures.http import Api, api_over
from tests.http.sockets.raw import asked, read
from tests.operators.deliveries.goods import Shop
from tests.operators.world import World

type Story = Callable[["Stage"], httpx.Response]

STORIES: Final[dict[str, Story]] = {}
"""Of each problem's code, what brings it about; the answer is returned."""


def provokes(code: str) -> Callable[[Story], Story]:
    """Say of a story which problem it ends with."""

    def keep(story: Story) -> Story:
        assert STORIES.setdefault(code, story) is story, f"{code} has two stories"
        return story

    return keep


@dataclass
class Stage:
    """The API of one database, and two others that lack something."""

    api: Api
    odd: Api
    """It has no keys and no room for streams, and cannot sign cursors."""
    idle: Api
    """It changes nothing, and takes two requests."""
    folder: Path
    connection: psycopg.Connection[Any]
    other: psycopg.Connection[Any]
    """For transactions that stay open."""

    @cached_property
    def admin(self) -> httpx.Client:
        return self.api.client(Surface.ADMIN)

    @cached_property
    def ann(self) -> httpx.Client:
        return self.api.client(Surface.PANEL, name="ann")

    @cached_property
    def bob(self) -> httpx.Client:
        return self.api.client(Surface.PANEL, name="bob")

    @cached_property
    def seller(self) -> httpx.Client:
        return self.api.client(Surface.SHOPS)

    @cached_property
    def shop(self) -> Shop:
        return Shop(World(self.api.services.database, self.connection))

    @property
    def world(self) -> World:
        return self.shop.world

    @cached_property
    def entitlement(self) -> UUID:
        self.world.operation("ann")
        found = self.world.streams.entitlement_of("default", "ann", 1)
        assert found is not None
        return found[0].id

    def under(self) -> dict[str, str]:
        """Return a key that nobody else has."""
        return {"Idempotency-Key": f"key-{uuid4()}"}

    def decide(
        self, delivery: UUID, who: httpx.Client, match: str | None = "", **said: str
    ) -> httpx.Response:
        """Decide about a delivery as whoever has just looked."""
        version = self.shop.state(delivery).version
        tag = f'"dlv_{delivery}:{version}"' if match == "" else match
        headers = self.under() | ({} if tag is None else {"If-Match": tag})
        body = {"verdict": "not_purchased", "evidence": "the ledger has none"} | said
        path = f"/deliveries/dlv_{delivery}/decision"
        return who.post(path, json=body, headers=headers)

    def told(self, sent: bytes, patience: Patience | None = None) -> httpx.Response:
        """Return what the API says to these bytes, if it waits that long for more."""
        services = self.api.services
        app = enveloped(application(services), services.counts)
        server = HttpServer(
            app, "127.0.0.1", 0, None, services.counts, patience or Patience()
        )
        server.start()
        try:
            return read(asked(server.address, sent))
        finally:
            server.stop()

    @cached_property
    def busy(self) -> dict[str, httpx.Response]:
        """What is answered while another transaction holds an order and a key."""
        order = {
            "orderId": "busy",
            "customerId": "ann",
            "kind": "topup",
            "currency": "EUR",
            "amountMinor": 100,
        }
        job = {"kind": "mail", "uniqueKey": "busy"}
        both, key = [self.seller.post] * 2, self.under()
        with self.other.transaction(force_rollback=True), ThreadPoolExecutor(3) as pool:
            self.other.execute(
                "SELECT counterfoil.settle_order(%s), counterfoil.enqueue(%s)",
                [Jsonb(order), Jsonb(job)],
            )
            # Of two under one key one waits for the order, and the other is told so.
            asked = [
                pool.submit(post, "/orders/settle", json=order, headers=key)
                for post in both
            ]
            asked.append(pool.submit(self.seller.post, "/jobs", json=job))
            answers = [each.result() for each in asked]
        return {each.json().get("code", "none"): each for each in answers}


def _lacking(services: Services) -> Services:
    def broken() -> bytes:
        msg = "a fault that nobody has thought of"
        raise RuntimeError(msg)

    limits = FeedLimits(followers=0)
    return replace(
        services,
        feed=Feed(services.changes, limits),
        cursor_secret=cast("Any", broken),
    )


@contextmanager
def staged(database: TestDatabase, folder: Path) -> Generator[Stage]:
    """Give an installation in which nothing has happened yet."""
    whole = Settings(four_eyes=True, data_encryption_keys=RING, rate_limit_burst=10_000)
    idle = Settings(read_only=True, rate_limit_burst=2)
    with (
        api_over(database, folder, whole) as api,
        api_over(database, folder, Settings(), _lacking) as odd,
        api_over(database, folder, idle) as changeless,
    ):
        connection = database.connect()
        configure(connection, slug="stars")
        configure(connection, adapter="fragment", slug="blind")
        yield Stage(api, odd, changeless, folder, connection, database.connect())
