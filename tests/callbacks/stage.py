"""A provider that tells what it has bought, and the deliveries that it is told of."""

import base64
import hashlib
import hmac
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

import msgspec
import psycopg

from application.callbacks.all import Callbacks
from application.callbacks.record import Receipt
from application.goods.pace import Pace
from application.providers.book import Provider
from application.providers.credential import Credential
from domain.goods.commands import GoodsCommand
from domain.goods.state import GoodsDelivery, key_of
from domain.stream import Ref
from infrastructure.guards.journal import FileJournal
from infrastructure.postgres.batch_store import BatchStore
from infrastructure.postgres.database import Database
from infrastructure.postgres.streams import PostgresStreams
from infrastructure.providers.callbacks.wiring import callbacks_over
from infrastructure.providers.registry.rows import write_provider
from infrastructure.seals.key_ring import KeyRing
from tests.guards.buyer import Buyer

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwQwErTyUiOpA="  # noqa: S105 - of a test
RING = KeyRing({"k1": bytes(range(32))})
PROVIDER = "stars"

CREDENTIAL = Credential(
    base_url="https://gateway.example",
    token="token-1",  # noqa: S106 - of a test
    webhook_secret=SECRET,
)


def body_of(key: str, said: str = "delivered", **members: object) -> bytes:
    data = {"key": key, "reference": "pur_1", **members}
    return json.dumps({"type": f"purchase.{said}", "data": data}).encode()


def signed(
    body: bytes, at: int, event: str = "evt_1", secret: str = SECRET
) -> dict[str, str]:
    key = base64.b64decode(secret.removeprefix("whsec_"))
    digest = hmac.new(key, f"{event}.{at}.".encode() + body, hashlib.sha256).digest()
    return {
        "Webhook-Id": event,
        "Webhook-Timestamp": str(at),
        "Webhook-Signature": f"v1,{base64.b64encode(digest).decode()}",
    }


def configure(
    connection: psycopg.Connection[Any],
    credential: Credential | None = CREDENTIAL,
    *,
    adapter: str = "idempotent",
    slug: str = PROVIDER,
    tenant_id: str = "default",
) -> None:
    provider = Provider(
        tenant_id=tenant_id, slug=slug, adapter=adapter, is_enabled=True
    )
    if credential is not None:
        provider = msgspec.structs.replace(
            provider,
            base_url=credential.base_url,
            sealed=RING.seal(credential.written(), provider.place),
        )
    write_provider(connection, provider, is_new=True, is_given=credential is not None)


@dataclass
class Shop:
    """One installation, and a provider at its door."""

    connection: psycopg.Connection[Any]
    pool: Database
    folder: Path
    callbacks: Callbacks

    @classmethod
    def over(
        cls, connection: psycopg.Connection[Any], pool: Database, folder: Path
    ) -> "Shop":
        streams, units = PostgresStreams(pool), BatchStore(pool)
        return cls(
            connection, pool, folder, callbacks_over(pool, RING, streams, units, Pace())
        )

    @property
    def buyer(self) -> Buyer:
        return Buyer(self.pool, FileJournal(self.folder / "journal"))

    def now(self) -> int:
        ((now,),) = self.connection.execute(
            "SELECT extract(epoch FROM counterfoil.now())::bigint"
        ).fetchall()
        return int(now)

    def owed(self, *commands: GoodsCommand, slug: str = PROVIDER) -> Ref:
        """Return a delivery to which all that has happened."""
        (delivery,) = self.buyer.owe(provider=slug)
        for command in commands:
            self.buyer.command(delivery, command)
        return delivery

    def bought(self, *commands: GoodsCommand) -> Ref:
        """Return a delivery that was submitted, to which then all that has happened."""
        delivery = self.owed()
        self.buyer.command(delivery)
        for command in commands:
            self.buyer.command(delivery, command)
        return delivery

    def state(self, delivery: Ref) -> GoodsDelivery:
        head = PostgresStreams(self.pool).head(delivery)
        assert head is not None
        assert isinstance(head.state, GoodsDelivery)
        return head.state

    def key(self, delivery: Ref, decision: int = 1) -> str:
        state = self.state(delivery)
        assert state.order is not None
        return key_of(state.order, state.line, decision)

    def tell(self, key: str, said: str = "delivered", event: str = "evt_1") -> Receipt:
        body = body_of(key, said)
        return self.send(signed(body, self.now(), event), body)

    def send(
        self,
        headers: Mapping[str, str],
        body: bytes,
        slug: str = PROVIDER,
        tenant: str = "default",
    ) -> Receipt:
        return self.callbacks.record(tenant, slug, headers, body)

    def rows(self, columns: str = "state, code") -> list[tuple[Any, ...]]:
        return self.connection.execute(
            f"SELECT {columns} FROM counterfoil.provider_callbacks ORDER BY id"  # noqa: S608 - of a test
        ).fetchall()

    def events(self, stream: UUID) -> list[tuple[Any, ...]]:
        """Return tags and actors, in order."""
        return self.connection.execute(
            """
            SELECT type, meta->'actor'->>'type'
              FROM counterfoil.events WHERE stream_id = %s ORDER BY version
            """,
            (stream,),
        ).fetchall()

    def times_delivered(self, delivery: Ref) -> int:
        tags = [tag for tag, _ in self.events(delivery.id)]
        return tags.count("goods.delivered")

    def remarks(self, tag: str) -> list[tuple[Any, ...]]:
        return self.connection.execute(
            "SELECT data, meta FROM counterfoil.events WHERE type = %s", (tag,)
        ).fetchall()
