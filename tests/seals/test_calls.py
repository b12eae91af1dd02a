"""A worker that buys: each call takes its moment's credential, and tells nobody."""

import base64
import socket
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from application.births import owed
from application.operators.instruction import instruct
from application.providers.configuring import ConfigureProviders
from application.providers.credential import Credential
from application.unit import Group, Written
from domain.event import Actor, Meta
from domain.goods.commands import Owe
from domain.goods.events import Product
from infrastructure.ids import new_id
from infrastructure.postgres.batch_store import BatchStore
from infrastructure.postgres.database import Database
from infrastructure.postgres.streams import PostgresStreams
from infrastructure.providers.registry.wiring import configure_over
from infrastructure.seals.key_ring import key_ring_of
from tests.api.command import Command
from tests.fixtures.database import TestDatabase
from tests.fixtures.workers import until
from tests.providers.raw_server import RawServer, answer
from tests.seals.canaries import Canaries, dumped

pytestmark = pytest.mark.database

KEYS = {f"k{n}": bytes(range(n * 40, n * 40 + 32)) for n in (1, 2)}
OLD, NEW = (f"{name}:{base64.b64encode(key).decode()}" for name, key in KEYS.items())
TOKENS = tuple(f"token-{n}-Zm9vYmFyYmF6cXV4" for n in (1, 2))
WEBHOOK = "whsec_c2VjcmV0LW9mLWNhbGxiYWNrcy13aGljaC1hcmUtc2lnbmVk"
WHY = instruct("ann", "the first contract")
NUMBERS = count(1)


@pytest.fixture
def canaries() -> Canaries:
    secrets = KEYS | {token[:7]: token.encode() for token in TOKENS}
    return Canaries(secrets | {"webhook": WEBHOOK.encode()})


@pytest.fixture
def pool(database: TestDatabase) -> Iterator[Database]:
    with Database(database.conninfo, pool_size=3) as pool:
        yield pool


@pytest.fixture
def counterfoil(database: TestDatabase, tmp_path: Path) -> Iterator[Command]:
    command = Command(
        COUNTERFOIL_DATABASE_URL=database.url,
        COUNTERFOIL_DATA_DIR=str(tmp_path),
        COUNTERFOIL_DATA_ENCRYPTION_KEYS=f"{OLD},{NEW}",
    )
    try:
        yield command
    finally:
        command.close()


def people(pool: Database, keys: str = f"{OLD},{NEW}") -> ConfigureProviders:
    return configure_over(pool, key_ring_of(keys), BatchStore(pool))


def configured(pool: Database, slug: str, adapter: str, url: str) -> None:
    credential = Credential(base_url=url, token=TOKENS[0], webhook_secret=WEBHOOK)
    people(pool).configure("default", slug, adapter, WHY)
    people(pool).set_credential("default", slug, credential, WHY)


def owe(pool: Database, provider: str, recipient: str) -> None:
    """Owe a line of goods, as fan-out does: its delivery, and the job that buys it."""
    number = next(NUMBERS)
    line = Owe(
        order=new_id(),
        order_id=f"A-{number}",
        customer_id="anna",
        line=1,
        provider=provider,
        product=Product(kind="telegram_stars", quantity=50),
        quantity=1,
        recipient=recipient,
        currency="EUR",
        cost_minor=50,
        price_minor=100,
        paid_minor=100,
    )
    born = owed(new_id, "default", line, PostgresStreams(pool).clock())
    meta = Meta(actor=Actor("system", "test"), correlation_id=f"order:A-{number}")
    refs = tuple(change.ref for change in born)
    group = Group(refs=refs, decide=lambda *_: born, meta=meta)
    (result,) = BatchStore(pool).commit([group])
    assert isinstance(result, Written), result


def codes(pool: Database) -> list[tuple[object, ...]]:
    """Return provider, state and code of each delivery, as they were owed."""
    with pool.connection() as connection:
        return connection.execute(
            """
            SELECT d.provider, d.state, d.code
              FROM counterfoil.deliveries d
              JOIN counterfoil.events born
                ON born.stream_id = d.stream_id AND born.version = 1
             ORDER BY born.position
            """
        ).fetchall()


SAID = {
    "buys_it": ("200 OK", b'{"ok": true}'),
    "refuses": ("400 Bad Request", b""),
    "breaks": ("500 Internal Server Error", b""),
    "garbles": ("200 OK", b""),
    "limits": ("429 Too Many Requests", b""),
}
"""What the gateway answers, by whom the goods are for."""


def echo(connection: socket.socket, head: bytes) -> None:
    """Answer with everything that was sent, in the body, the headers and the status."""
    body = head
    while not any(name.encode() in body for name in SAID):
        body += connection.recv(65536)
    status, told = next(it for name, it in SAID.items() if name.encode() in body)
    auth = next(line for line in head.decode().split("\r\n") if "uthorization" in line)
    lines = (f"X-Echo: {auth}", f"Retry-After: {auth}", f"Location: /{auth}")
    connection.sendall(answer(told or body, f"{status} {auth}", *lines))


def test_a_gateway_that_repeats_our_credential_finds_nobody_who_keeps_it(
    counterfoil: Command,
    canaries: Canaries,
    pool: Database,
    database: TestDatabase,
    tmp_path: Path,
) -> None:
    with RawServer(echo) as gateway:
        configured(pool, "blind", "fragment", gateway.url)
        configured(pool, "keyed", "idempotent", gateway.url)
        for name in SAID:
            owe(pool, "blind", name)
        owe(pool, "keyed", "refuses")
        worker = counterfoil.start("worker")
        until(lambda: all(state != "pending" or code for _, state, code in codes(pool)))
        until(lambda: not any(state == "submitted" for _, state, _ in codes(pool)))
        ended = worker.stop()

    assert ended.code == 0
    assert len(gateway.heads) == len(SAID) + 1
    assert all(b"uthorization: B" in head for head in gateway.heads)
    assert codes(pool) == [
        ("blind", "delivered", None),
        ("blind", "refunded", "http_400"),
        ("blind", "needs_review", "http_500"),
        ("blind", "needs_review", "gateway_unreachable"),
        ("blind", "pending", "http_429"),
        ("keyed", "refunded", "http_400"),
    ]
    told = counterfoil("events", "--json")
    canaries.assert_none_in("the log of the worker", (ended.out + ended.err).encode())
    canaries.assert_none_in("the events", told.out.encode())
    canaries.assert_none_in("the database", dumped(database.conninfo))
    for file in tmp_path.rglob("*"):
        if file.is_file():
            canaries.assert_none_in(file.name, file.read_bytes())


def test_a_worker_takes_another_token_and_another_key_at_its_next_call(
    counterfoil: Command, pool: Database
) -> None:
    """Neither needs a restart."""
    with RawServer(echo) as gateway:
        configured(pool, "blind", "fragment", gateway.url)
        worker = counterfoil.start("worker")

        def bought(n: int) -> str:
            owe(pool, "blind", "buys_it")
            until(lambda: [it[1] for it in codes(pool)] == ["delivered"] * n)
            head = gateway.heads[-1].decode()
            basic = head.lower().partition("authorization: basic ")[0]
            coded = head[len(basic) + len("authorization: basic ") :].split()[0]
            return base64.b64decode(coded).decode()

        assert bought(1) == f"omniflow:{TOKENS[0]}"
        people(pool).rotate_credential("default", "blind", TOKENS[1], WHY)
        assert bought(2) == f"omniflow:{TOKENS[1]}"
        people(pool, f"{NEW},{OLD}").reseal(WHY)
        assert bought(3) == f"omniflow:{TOKENS[1]}"
        assert worker.stop().code == 0
    assert people(pool).look.credentials().credentials[0].key == "k2"


def test_without_a_key_a_worker_does_everything_else_and_says_so(
    counterfoil: Command, pool: Database, database: TestDatabase
) -> None:
    """The delivery waits untouched, and goes on as soon as a worker has the key."""
    connection = database.connect()
    with RawServer(echo) as gateway:
        configured(pool, "blind", "fragment", gateway.url)
        owe(pool, "blind", "buys_it")
        keyless = counterfoil.start("worker", COUNTERFOIL_DATA_ENCRYPTION_KEYS="")
        keyless.wait_for("digital goods delivery disabled")
        connection.execute(SETTLE)
        until(lambda: FANOUT in kinds_done(pool))
        assert keyless.stop().code == 0
        assert codes(pool) == [("blind", "pending", None)]
        assert gateway.heads == []

        worker = counterfoil.start("worker")
        until(lambda: codes(pool) == [("blind", "delivered", None)])
        ended = worker.stop()

    assert ended.code == 0
    assert "digital goods delivery disabled" not in ended.err


FANOUT = "order_fanout"
SETTLE = """
SELECT counterfoil.settle_order('{
    "orderId": "B-1", "customerId": "bob", "kind": "purchase", "currency": "EUR",
    "amountMinor": 1299, "lines": [{"line": 1, "type": "access", "days": 30}]}')
"""


def kinds_done(pool: Database) -> set[object]:
    """Return the kinds of the jobs that have succeeded."""
    with pool.connection() as connection:
        rows = connection.execute(
            """
            SELECT born.data->>'kind'
              FROM counterfoil.events done
              JOIN counterfoil.events born
                ON born.stream_id = done.stream_id AND born.version = 1
             WHERE done.type = 'job.succeeded'
            """
        ).fetchall()
    return {row[0] for row in rows}
