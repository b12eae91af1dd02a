"""A database in which things have happened, and the ids of what they happened to."""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from uuid import UUID

from hypothesis import strategies as st

from application.access.tokens import Wanted
from application.bulk.request import Wanted as BulkWanted
from infrastructure.listening.check import Check
from infrastructure.postgres.database import Connection
from infrastructure.processor.heartbeat import register
from infrastructure.processor.identity import this_process
from tests.fixtures.http import SHELL, Api
from tests.fixtures.read_models import project
from tests.operators.deliveries.goods import Shop
from tests.operators.world import World as Installed

RECEIPT = b"the provider's ledger has no purchase for anna_b"

NOBODYS = UUID("0197d3a0-0000-7000-8000-0000000000ff")
"""The id of nothing."""

JOBS = """
SELECT e->>'jobId'
  FROM generate_series(1, 3) n,
       counterfoil.enqueue(jsonb_build_object(
           'kind', 'mail', 'args', jsonb_build_object('n', n))) e
"""

SETTLE = """
SELECT counterfoil.settle_order('{
    "orderId": "A-1", "customerId": "C-1", "kind": "purchase", "currency": "EUR",
    "amountMinor": 1490, "lines": [{"line": 1, "type": "access", "days": 30}]
}')->>'streamId'
"""


PROVIDER = """
INSERT INTO counterfoil.goods_providers (tenant_id, slug, adapter, is_enabled)
VALUES ('default', 'stars', 'idempotent', true)
"""

EVENTS = """
SELECT min(position), min(position) FILTER (WHERE type = 'operator.action_taken')
  FROM counterfoil.events
 WHERE tenant_id = 'default'
"""

CALLBACK = """
INSERT INTO counterfoil.provider_callbacks
       (id, tenant_id, provider, event_id, state, code, body_sha256, body_bytes, body,
        body_key)
VALUES (counterfoil.uuid7(), 'default', 'stars', 'evt_1', 'ignored', 'unknown_purchase',
        sha256('x'), 1, 'x', 'k1')
RETURNING id
"""


@dataclass
class World:
    """Ids that somebody may ask for, by the name of the path's parameter."""

    known: dict[str, list[str]] = field(default_factory=dict[str, list[str]])

    def ids(self) -> st.SearchStrategy[dict[str, str]]:
        """Return ids for every parameter, and `any` for those that nobody names."""
        every = sorted({each for ids in self.known.values() for each in ids})
        return st.fixed_dictionaries(
            {
                name: st.sampled_from([*ids, *every[:2]])
                for name, ids in self.known.items()
            }
            | {"any": st.sampled_from(every)}
        )


def _is_ready(api: Api) -> None:
    """Let the process have started: only what starts or is ill says it is not ready."""
    look = Check("database", lambda: None, fresh_seconds=0.0)
    api.services.internal.probes.watch(pulses=(), ready=[look], started=())


@contextmanager
def lived_in(api: Api) -> Generator[World]:
    """Let some things happen, to everything that a path can name."""
    _is_ready(api)
    database = api.services.database
    with database.connection() as connection:
        rows = connection.execute(JOBS).fetchall()
        orders = connection.execute(SETTLE).fetchall()
        connection.execute(PROVIDER)
        callbacks = connection.execute(CALLBACK).fetchall()
        boots = _workers(connection)
        installed = Installed(database, connection)
        operation, _ = installed.operation("ann")
        delivery = Shop(installed).review()
    receipt = api.services.add_evidence(str(delivery), RECEIPT, SHELL)
    entitlement = installed.streams.entitlement_of("default", "ann", 1)
    assert entitlement is not None
    bulk, token = _bulk(api), _token(api)
    project(database)
    with database.connection() as connection:
        events = connection.execute(EVENTS).fetchall()
    yield World(
        {
            "job_id": [str(row[0]) for row in rows],
            "order_id": [f"ord_{row[0]}" for row in orders],
            "operation_id": [f"op_{operation}"],
            "entitlement_id": [f"ent_{entitlement[0].id}"],
            "letter_id": [f"dlv_{delivery}"],
            "delivery_id": [f"dlv_{delivery}"],
            "digest": [receipt.evidence.sha256.hex()],
            "callback_id": [f"cbk_{row[0]}" for row in callbacks],
            "queue": ["bulk", "default"],
            "projection": ["jobs", "drifts"],
            "drift_id": [f"drf_{entitlement[0].id}.expiry"],
            "bulk_id": [f"blk_{bulk}"],
            "worker_id": boots,
            "stream_id": [str(row[0]) for row in rows],
            "position": [str(row[0]) for row in events],
            "audit_id": [str(row[1]) for row in events],
            "token_id": [f"tok_{token}"],
        }
    )


def _workers(connection: Connection) -> list[str]:
    register(connection, this_process(), ["mail"])
    workers = connection.execute("SELECT boot_id FROM counterfoil.workers")
    return [f"wrk_{boot}" for (boot,) in workers]


def _bulk(api: Api) -> UUID:
    wanted = BulkWanted(action="cancel", ids=(NOBODYS,))
    return api.services.request_bulk(wanted, SHELL).bulk_id


def _token(api: Api) -> UUID:
    wanted = Wanted(
        tenant_id="default", name="program", surface="shop", scopes=("jobs:read",)
    )
    return api.services.access.tokens.create(wanted, SHELL).token.id
