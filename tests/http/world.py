"""A database in which things have happened, and the ids of what they happened to."""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from uuid import UUID

from hypothesis import strategies as st

from application.access.tokens import Wanted
from application.bulk.request import Wanted as BulkWanted
from infrastructure.processor.heartbeat import register
from infrastructure.processor.identity import this_process
from tests.fixtures.http import SHELL, Api
from tests.operators.world import World as ByHand

NOBODYS = UUID("0197d3a0-0000-7000-8000-0000000000ff")
"""The id of nothing."""

SETTLE = """
SELECT counterfoil.settle_order('{
    "orderId": "A-1", "customerId": "C-1", "kind": "purchase", "currency": "EUR",
    "amountMinor": 1490, "lines": [{"line": 1, "type": "access", "days": 30}]
}')->>'streamId'
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


@contextmanager
def lived_in(api: Api) -> Generator[World]:
    """Let some things happen."""
    with api.services.database.connection() as connection:
        rows = connection.execute(
            "SELECT e->>'jobId' FROM generate_series(1, 3) n,"
            " counterfoil.enqueue(jsonb_build_object('kind', 'mail', 'args',"
            " jsonb_build_object('n', n))) e"
        ).fetchall()
        orders = connection.execute(SETTLE).fetchall()
        by_hand = ByHand(api.services.database, connection)
        operation, _ = by_hand.operation("C-7")
        entitlement = by_hand.streams.entitlement_of("default", "C-7", 1)
        assert entitlement is not None
        register(connection, this_process(), ["mail"])
        workers = connection.execute("SELECT boot_id FROM counterfoil.workers")
        boots = [f"wrk_{boot}" for (boot,) in workers]
    wanted = BulkWanted(action="cancel", ids=(NOBODYS,))
    bulk = api.services.request_bulk(wanted, SHELL)
    token = Wanted(
        tenant_id="default", name="program", surface="shop", scopes=("jobs:read",)
    )
    made = api.services.access.tokens.create(token, SHELL)
    yield World(
        {
            "job_id": [str(row[0]) for row in rows],
            "order_id": [f"ord_{row[0]}" for row in orders],
            "queue": ["bulk", "default"],
            "projection": ["jobs", "drifts"],
            "entitlement_id": [f"ent_{entitlement[0].id}"],
            "operation_id": [f"op_{operation}"],
            "drift_id": [f"drf_{entitlement[0].id}.expiry"],
            "bulk_id": [f"blk_{bulk.bulk_id}"],
            "worker_id": boots,
            "token_id": [f"tok_{made.token.id}"],
        }
    )
