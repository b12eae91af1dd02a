"""Every operation reaches a failing panel through a real worker, judged by its book."""

import random
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta

import httpx
import pytest

from application.errors import StateConflictError
from application.operators.instruction import instruct
from application.operators.operate import Operate, Operated, Wanted
from domain.entitlement.drift import KINDS
from domain.errors import InvalidRequestError
from domain.event import JsonObject
from domain.fulfillment.operations import BY_OPERATORS
from infrastructure.client import Client
from infrastructure.ids import new_id
from infrastructure.postgres.batch_store import BatchStore
from infrastructure.postgres.database import Database
from infrastructure.postgres.streams import PostgresStreams
from infrastructure.processor.worker import Worker
from infrastructure.simulators.panel.book import BookedUser
from infrastructure.simulators.panel.faults import FAULT_NAMES, Rotation
from infrastructure.simulators.panel.simulator import PanelSimulator
from tests.application.installed import SQUADS, TOKEN, assert_book_agrees, drain
from tests.fixtures.database import TestDatabase

pytestmark = [
    pytest.mark.database,
    pytest.mark.usefixtures(
        "heads_equal_folds", "messages_equal_events", "read_models_hold"
    ),
]

CUSTOMERS = 12
ROUNDS = 5

HEADS = """
SELECT username,
       to_char(((desired->>'ends_at')::timestamptz
                + make_interval(secs => (desired->>'grace_seconds')::int))
               AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
       coalesce((desired->>'traffic_bytes')::bigint, 0),
       coalesce((desired->>'device_limit')::int, 0),
       ARRAY(SELECT jsonb_array_elements_text(desired->'squad_ids') ORDER BY 1),
       paused_at IS NOT NULL OR disabled_version IS NOT NULL
  FROM counterfoil.entitlements
"""


class People:
    """Operators who ask for whatever there is, and somebody at the panel itself."""

    def __init__(
        self, database: TestDatabase, pool: Database, panel: PanelSimulator
    ) -> None:
        streams = PostgresStreams(pool)
        self._operate = Operate(streams, BatchStore(pool), new_id)
        self._client = Client(database.connect())
        self._dice = random.Random(7)  # noqa: S311 - repeatable
        self._panel = panel
        self._orders = 0
        self._desk = httpx.Client(
            base_url=panel.url,
            headers={
                "Authorization": f"Bearer {TOKEN}",
                "X-Forwarded-For": "127.0.0.1",
                "X-Forwarded-Proto": "https",
            },
            trust_env=False,
        )

    def settle(self, customer: int, kind: str = "renewal") -> None:
        self._orders += 1
        self._client.settle_order(
            {
                "orderId": f"o{self._orders}",
                "customerId": f"c{customer}",
                "kind": kind,
                "currency": "USD",
                "amountMinor": 100,
                "lines": [{"line": 1, "type": "access", "days": 30}],
            }
        )

    def ask(self, customer: int, operation: str, **parameters: object) -> Operated:
        wanted = Wanted(
            entitlement=f"customer:c{customer}",
            operation=operation,
            parameters=parameters,
        )
        return self._operate(wanted, instruct("ann", "the customer asked"))

    def ask_for_anything(self, customer: int) -> None:
        operation = self._dice.choice(BY_OPERATORS)
        # Resuming what is not paused, an end that is no later …
        with suppress(StateConflictError, InvalidRequestError):
            self.ask(customer, operation, **self._parameters(operation))

    def _parameters(self, operation: str) -> JsonObject:
        match operation:
            case "extend":
                days = timedelta(days=self._dice.randint(40, 400))
                return {"endsAt": (datetime.now(UTC) + days).isoformat()}
            case "set_limits":
                return {
                    "trafficBytes": self._dice.choice([None, 1000, 2000]),
                    "deviceLimit": self._dice.choice([None, 1, 5]),
                }
            case "set_squads":
                number = self._dice.randint(0, len(SQUADS))
                return {"squadIds": list(SQUADS[:number])}
            case _:
                return {}

    def edit(self, user: BookedUser, **members: object) -> None:
        """Change a user at the panel, behind everybody's back."""
        body = {"id": user.id, **members}
        self._desk.patch("/api/users", json=body).raise_for_status()

    def meddle(self, users: list[BookedUser]) -> None:
        """Let the panel show a user for each kind of drift, in the order of KINDS."""
        self._desk.delete(f"/api/users/{users[0].id}").raise_for_status()
        self.edit(users[1], expireAt="2099-01-01T00:00:00.000Z")
        self.edit(users[2], trafficLimitBytes=1)
        self.edit(users[3], hwidDeviceLimit=None)
        self.edit(users[4], activeInternalSquads=[SQUADS[0]])
        disable = f"/api/users/{users[5].id}/actions/disable"
        self._desk.post(disable).raise_for_status()

    def close(self) -> None:
        self._desk.close()


@pytest.fixture
def people(database: TestDatabase, panel: PanelSimulator) -> Iterator[People]:
    with Database(database.conninfo, pool_size=2) as pool:
        people = People(database, pool, panel)
        yield people
        people.close()


def assert_panel_shows_what_is_owed(
    database: TestDatabase, panel: PanelSimulator
) -> None:
    heads = database.connect().execute(HEADS).fetchall()
    users = {user.username: user for user in panel.users()}
    assert len(heads) == len(users)
    for name, expire_at, traffic, devices, squads, is_off in heads:
        user = users[name]
        assert user.expire_at == expire_at
        assert (user.traffic_limit_bytes, user.hwid_device_limit) == (traffic, devices)
        assert sorted(user.squads) == squads
        assert (user.status == "DISABLED") == is_off


def test_every_operation_ends_and_the_panel_shows_what_is_owed(
    database: TestDatabase, panel: PanelSimulator, worker: Worker, people: People
) -> None:
    """I2, I3, I5: nine operations of operators and renewals, a third of all calls
    going wrong."""
    names = tuple(name for name in FAULT_NAMES if not name.startswith("hang"))
    panel.faults.set(rotation=Rotation(rate=0.3, names=names, seed=2))
    for customer in range(CUSTOMERS):
        people.settle(customer, "purchase")
    worker.start()
    drain(database)

    for _ in range(ROUNDS):
        for customer in range(CUSTOMERS):
            people.ask_for_anything(customer)
        people.settle(0)
        people.ask(1, "reset_traffic")
        drain(database)

    connection = database.connect()
    rows = connection.execute(
        "SELECT operation, state, code FROM counterfoil.operations"
    ).fetchall()
    assert {operation for operation, _, _ in rows} == {"create", *BY_OPERATORS}
    ended = {(state, code) for _, state, code in rows}
    assert ended <= {("succeeded", None), ("cancelled", "covered_by")}
    states = connection.execute("SELECT DISTINCT state FROM counterfoil.orders")
    assert states.fetchall() == [("fulfilled",)]
    assert_panel_shows_what_is_owed(database, panel)
    assert_book_agrees(database, panel)


def test_a_reconciliation_finds_what_somebody_did_at_the_panel_and_repairs_it(
    database: TestDatabase, panel: PanelSimulator, worker: Worker, people: People
) -> None:
    for customer in range(len(KINDS)):
        people.settle(customer, "purchase")
    worker.start()
    drain(database)
    users = panel.users()
    people.meddle(users)

    for customer in range(len(KINDS)):
        people.ask(customer, "reconcile")
    drain(database)

    events = (
        database.connect()
        .execute(
            """
            SELECT n.username, e.type, e.data->>'kind'
              FROM counterfoil.events e
              JOIN counterfoil.entitlements n USING (stream_id)
             WHERE e.type LIKE 'entitlement.drift%'
             ORDER BY e.position
            """
        )
        .fetchall()
    )
    edited = dict(zip((user.username for user in users), KINDS, strict=True))
    for tag in ("entitlement.drift_detected", "entitlement.drift_resolved"):
        assert {name: kind for name, type_, kind in events if type_ == tag} == edited
    assert len(events) == 2 * len(KINDS)
    told = database.connect().execute(
        "SELECT count(*) FROM counterfoil.outbox WHERE topic LIKE '%drift_detected'"
    )
    assert told.fetchall() == [(len(KINDS),)]
    assert_panel_shows_what_is_owed(database, panel)
