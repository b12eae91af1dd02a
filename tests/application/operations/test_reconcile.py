"""A reconciliation puts on record in what the panel differs, and then repairs it."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from msgspec.structs import replace

from application.fulfillment.begin import LEASE_LOST
from application.fulfillment.detection import Detection
from application.ports import (
    Halted,
    LookAnswer,
    Misconfigured,
    Rejected,
    Unavailable,
    Unknown,
)
from application.unit import Refused
from domain.entitlement.drift import KINDS
from domain.entitlement.events import DriftDetected, DriftResolved
from domain.entitlement.state import Sight
from domain.fulfillment.aggregate import Stage
from domain.jobs import aggregate as jobs
from domain.jobs.outcome import Cancel, Fail, Outcome, Park, Retry, Snooze
from domain.jobs.verdict import LeaseLost
from domain.stream import Change, Ref, StreamKind
from tests.application.shop import Shop, access_line

SQUAD = "11111111-1111-4111-8111-111111111111"
STRANGE = "22222222-2222-4222-8222-222222222222"


@pytest.fixture
def shop() -> Shop:
    """A customer whom the panel shows as it should."""
    shop = Shop()
    line = access_line(traffic_bytes=5, device_limit=2, squad_ids=(SQUAD,))
    shop.run(shop.job_of(shop.buy(line)))
    return shop


def edit(shop: Shop, squads: tuple[str, ...] | None = None, **members: object) -> None:
    """Change the panel's user, as somebody does behind our back."""
    before = shop.user
    shop.panel.users[shop.entitlement.username] = Sight(
        replace(before.observed, **members),
        before.squad_ids if squads is None else squads,
    )


def drift_events(shop: Shop) -> list[DriftDetected | DriftResolved]:
    return [
        event
        for event in shop.log.events_of(shop.entitlement_ref)
        if isinstance(event, DriftDetected | DriftResolved)
    ]


def reconcile(shop: Shop) -> Ref:
    """Ask for a reconciliation, in a quarter of an hour of its own."""
    shop.wait(minutes=15)
    return shop.operate("reconcile")


EDITS: dict[str, Callable[[Shop], None]] = {
    "missing_remote": lambda shop: shop.panel.users.clear(),
    "expiry": lambda shop: edit(shop, expire_at=shop.log.now + timedelta(days=1)),
    "traffic": lambda shop: edit(shop, traffic_limit_bytes=0),
    "device_limit": lambda shop: edit(shop, device_limit=None),
    "squads": lambda shop: edit(shop, (SQUAD, STRANGE)),
    "status": lambda shop: edit(shop, status="DISABLED"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_is_recorded_repaired_and_resolved(shop: Shop, kind: str) -> None:
    right = shop.user
    EDITS[kind](shop)
    operation = reconcile(shop)
    recorded: list[str] = []
    shop.panel.meanwhile = lambda: recorded.extend(
        drift.kind for drift in shop.entitlement.drifts
    )

    shop.run(shop.job_of(operation))

    assert recorded == [kind]  # committed before the panel was asked to repair it
    assert [(type(event), event.kind) for event in drift_events(shop)] == [
        (DriftDetected, kind),
        (DriftResolved, kind),
    ]
    assert shop.entitlement.drifts == ()
    assert shop.user == right


def test_a_panel_that_agrees_leaves_nothing_but_the_success(shop: Shop) -> None:
    before = len(shop.log.events_of(shop.entitlement_ref))

    operation = reconcile(shop)
    shop.run(shop.job_of(operation))

    assert shop.log.operation(operation).stage is Stage.SUCCEEDED
    assert len(shop.log.events_of(shop.entitlement_ref)) == before


def test_a_user_that_somebody_switched_on_while_it_rests_is_switched_off(
    shop: Shop,
) -> None:
    shop.run(shop.job_of(shop.operate("pause")))
    edit(shop, status="ACTIVE")

    shop.run(shop.job_of(reconcile(shop)))

    detected, resolved = drift_events(shop)
    assert isinstance(detected, DriftDetected)
    assert (detected.expected, detected.observed) == ("paused", "active")
    assert isinstance(resolved, DriftResolved)
    assert shop.user.observed.status == "DISABLED"


def test_what_was_found_stays_on_record_when_the_repair_fails(shop: Shop) -> None:
    edit(shop, traffic_limit_bytes=0)
    operation = reconcile(shop)
    shop.panel.answers.append(Unavailable("remnawave_http_503"))

    shop.run(shop.job_of(operation))
    assert [drift.kind for drift in shop.entitlement.drifts] == ["traffic"]

    shop.wait(minutes=1)
    shop.run(shop.job_of(operation))
    assert shop.entitlement.drifts == ()
    assert len(drift_events(shop)) == 2  # found again, and not recorded twice


def test_an_open_kind_is_refreshed_when_it_differs_otherwise(shop: Shop) -> None:
    edit(shop, traffic_limit_bytes=0)
    operation = reconcile(shop)
    shop.panel.answers.append(Unavailable("remnawave_http_503"))
    shop.run(shop.job_of(operation))
    edit(shop, traffic_limit_bytes=9)

    shop.panel.answers.append(Unavailable("remnawave_http_503"))
    shop.run(shop.job_of(operation))

    (drift,) = shop.entitlement.drifts
    assert drift.observed == {"value": 9}
    assert len(drift_events(shop)) == 2


def test_the_success_of_any_operation_resolves_what_it_has_repaired(
    shop: Shop,
) -> None:
    edit(shop, traffic_limit_bytes=0, status="DISABLED")
    operation = reconcile(shop)
    shop.panel.answers.append(Unavailable("remnawave_http_503"))
    shop.run(shop.job_of(operation))
    assert {drift.kind for drift in shop.entitlement.drifts} == {"traffic", "status"}

    shop.run(shop.job_of(shop.operate("enable")))
    assert [drift.kind for drift in shop.entitlement.drifts] == ["traffic"]

    shop.run(shop.job_of(shop.operate("set_limits", deviceLimit=4)))
    assert shop.entitlement.drifts == ()


def test_what_still_differs_after_a_success_stays_open(shop: Shop) -> None:
    """An expiry that has passed cannot be pushed: the panel takes none of the past."""
    shop.wait(days=60)
    edit(shop, expire_at=shop.log.now - timedelta(days=1), status="EXPIRED")
    operation = reconcile(shop)
    shop.panel.keeps_expiry = True

    shop.run(shop.job_of(operation))

    assert shop.log.operation(operation).stage is Stage.SUCCEEDED
    assert [drift.kind for drift in shop.entitlement.drifts] == ["expiry"]


def test_a_settlement_meanwhile_does_not_undo_what_was_resolved(shop: Shop) -> None:
    """ADR 0010: facts of a holder stand; only their place in the stream is new."""
    edit(shop, traffic_limit_bytes=0)
    job = shop.job_of(reconcile(shop))
    context = shop.claim(job)
    outcome = shop.handle(context)
    shop.buy()

    shop.settle(context, outcome)

    assert shop.entitlement.drifts == ()


UNSEEN: list[tuple[LookAnswer, type[Outcome]]] = [
    (Unavailable("remnawave_http_503"), Retry),
    (Unknown("remnawave_unavailable"), Retry),
    (Rejected("remnawave_http_400"), Fail),
    (Misconfigured("panel_credentials"), Park),
    (Halted("", requests=0), Snooze),
    (Halted("", requests=1), Retry),
]


@pytest.mark.parametrize(("answer", "outcome"), UNSEEN)
def test_what_could_not_be_looked_at_is_not_repaired(
    shop: Shop, answer: LookAnswer, outcome: type[Outcome]
) -> None:
    shop.panel.looks.append(answer)
    asked = len(shop.panel.asked)

    said = shop.run(shop.job_of(reconcile(shop)))

    assert isinstance(said, outcome)
    assert len(shop.panel.asked) == asked
    assert drift_events(shop) == []


def test_a_holder_that_was_replaced_while_it_looked_records_nothing(
    shop: Shop,
) -> None:
    """I4."""
    edit(shop, traffic_limit_bytes=0)
    job = shop.job_of(reconcile(shop))
    context = shop.claim(job)
    shop.panel.when_looked_at = lambda: shop.settle(
        context, LeaseLost(cause="lease_lost")
    )
    asked = len(shop.panel.asked)

    outcome = shop.handle(context)

    assert drift_events(shop) == []
    assert len(shop.panel.asked) == asked
    assert shop.settle(context, outcome) == Refused("lease_lost")


def test_a_cancel_that_came_while_it_looked_stops_the_repair(shop: Shop) -> None:
    edit(shop, traffic_limit_bytes=0)
    job = shop.job_of(reconcile(shop))
    context = shop.claim(job)

    def cancel() -> None:
        before = shop.log.job(job)
        events = jobs.decide(before, jobs.Cancel())
        state = jobs.fold(events, before)
        shop.log.write(
            Change(
                ref=job,
                tenant_id="default",
                expected=before.version,
                events=events,
                state=state,
            )
        )

    shop.panel.when_looked_at = cancel
    asked = len(shop.panel.asked)

    outcome = shop.handle(context)

    assert outcome == Cancel(code="operator")
    assert len(shop.panel.asked) == asked


def test_nothing_is_detected_without_a_job_or_an_entitlement(shop: Shop) -> None:
    operation = shop.operate("reconcile")
    job = shop.job_of(operation)
    context = shop.claim(job)
    detect = Detection(
        entitlement=Ref(StreamKind.ENTITLEMENT, job.id),
        job=job,
        token=context.token,
        drifts=(),
    )
    locked = {job: shop.log.heads[job]}

    assert detect({}, shop.log.now) == LEASE_LOST
    assert detect(locked, shop.log.now) == Refused("operation_missing")
