"""Windows of maintenance as heads, and the gates that open ones close."""

from typing import Any

import psycopg
import pytest
from msgspec.structs import replace

from application.unit import Group, Locked, Refused, changed
from domain.jobs.aggregate import Cancel, Job, fold
from domain.jobs.aggregate import decide as decide_job
from domain.jobs.events import JobEvent
from domain.maintenance.aggregate import MaintenanceWindow, evolve
from domain.maintenance.events import Closed, Opened
from domain.stream import Change, Ref, StreamKind
from infrastructure.ids import new_id
from infrastructure.postgres.batch_store import BatchStore
from tests.fixtures.database import ON_BOTH_SERVERS, TestDatabase
from tests.store.groups import META, birth, births, job_birth, tags, written

pytestmark = [ON_BOTH_SERVERS, pytest.mark.usefixtures("heads_equal_folds")]

OPENED = Opened(
    scope="panel",
    source="manual",
    reason="the panel moves",
    notice_ru="Идут работы",
    notice_en="We are at work",
    expected_return=None,
)


def opening(scope: str = "panel") -> Change:
    ref = Ref(StreamKind.MAINTENANCE, new_id())
    return birth(ref, replace(OPENED, scope=scope))


def closing(ref: Ref) -> Group:
    def closed(state: object) -> MaintenanceWindow:
        assert isinstance(state, MaintenanceWindow)
        return evolve(state, Closed())

    return Group(
        refs=(ref,),
        decide=lambda locked, _now: (
            changed(ref, locked[ref], (Closed(),), closed(locked[ref].state)),
        ),
        meta=META,
    )


def gates(connection: psycopg.Connection[Any]) -> list[tuple[str, str]]:
    return connection.execute(
        "SELECT gate, cause FROM counterfoil.gates ORDER BY gate"
    ).fetchall()


def test_an_open_window_closes_its_gate_and_a_closed_one_opens_it(
    database: TestDatabase, store: BatchStore
) -> None:
    connection = database.connect()
    panel, everything = opening(), opening("all")

    store.commit([births(panel), births(everything)])
    both = gates(connection)
    store.commit([closing(panel.ref)])

    assert both == [("all", "maintenance_active"), ("panel", "maintenance_active")]
    assert gates(connection) == [("all", "maintenance_active")]


def test_a_gate_is_closed_since_its_window_was_opened(
    database: TestDatabase, store: BatchStore
) -> None:
    connection = database.connect()
    store.commit([births(opening())])

    ((lies_within,),) = connection.execute(
        """
        SELECT abs(extract(epoch FROM g.since - e.recorded_at)) < 1
          FROM counterfoil.gates g, counterfoil.events e
        """
    ).fetchall()

    assert lies_within


def test_a_scope_has_one_open_window_at_most(
    database: TestDatabase, store: BatchStore
) -> None:
    first, second = opening(), opening()
    store.commit([births(first)])

    (refused,) = store.commit([births(second)])
    store.commit([closing(first.ref)])
    (later,) = store.commit([births(opening())])

    assert refused == Refused("conflict")
    assert written(later).position == 3
    assert tags(database.connect(), second.ref) == []


def test_opening_and_closing_are_told_to_the_outside_without_the_reason(
    database: TestDatabase, store: BatchStore
) -> None:
    window = opening()
    store.commit([births(window)])
    store.commit([closing(window.ref)])

    messages = (
        database.connect()
        .execute("SELECT topic, data FROM counterfoil.outbox ORDER BY position")
        .fetchall()
    )

    said = {
        "window_id": str(window.ref.id),
        "scope": "panel",
        "source": "manual",
        "notice_ru": "Идут работы",
        "notice_en": "We are at work",
        "expected_return": None,
    }
    assert messages == [
        ("maintenance.opened", said | {"state": "open"}),
        ("maintenance.closed", said | {"state": "closed"}),
    ]


def test_a_window_is_locked_after_live_and_dead_jobs(
    database: TestDatabase, store: BatchStore
) -> None:
    """Heads of all three are found by one statement, each as what it is."""
    live, dead, window = job_birth(), job_birth(), opening()
    store.commit([births(live, dead, window)])
    store.commit([cancelling(dead.ref)])
    found: dict[Ref, str] = {}

    def look(locked: Locked, _now: object) -> tuple[Change, ...]:
        found.update({ref: type(head.state).__name__ for ref, head in locked.items()})
        return ()

    refs = (window.ref, dead.ref, live.ref)
    store.commit([Group(refs=refs, decide=look, meta=META)])

    assert found == {
        live.ref: Job.__name__,
        dead.ref: Job.__name__,
        window.ref: MaintenanceWindow.__name__,
    }
    assert tags(database.connect(), dead.ref) == ["job.enqueued", "job.cancelled"]


def cancelling(ref: Ref) -> Group:
    def cancelled(state: object) -> tuple[tuple[JobEvent, ...], Job]:
        assert isinstance(state, Job)
        events = decide_job(state, Cancel())
        return events, fold(events, state)

    return Group(
        refs=(ref,),
        decide=lambda locked, _now: (
            changed(ref, locked[ref], *cancelled(locked[ref].state)),
        ),
        meta=META,
    )


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE counterfoil.maintenance SET state = 'open'",
        "DELETE FROM counterfoil.maintenance",
        "TRUNCATE counterfoil.maintenance",
    ],
)
def test_i6_a_closed_window_is_final_and_stays(
    database: TestDatabase, store: BatchStore, statement: str
) -> None:
    window = opening()
    store.commit([births(window)])
    store.commit([closing(window.ref)])

    with pytest.raises(psycopg.DatabaseError):
        database.connect().execute(statement.encode())
