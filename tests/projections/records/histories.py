"""Generated histories of one stream: any events in any order, behind a birth."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import msgspec
from hypothesis import strategies as st

from domain.entitlement import events as entitlement
from domain.entitlement.drift import KINDS
from domain.entitlement.state import Desired, Observed, Upcoming
from domain.event import Actor, ActorType, Causation, Event, Meta
from domain.fulfillment import events as fulfillment
from domain.goods import events as goods
from domain.order import events as order
from domain.recorded import RecordedEvent
from projections.read_models.projection import Key, Projection
from tests.projections.book.told import Row, Rows, Told

START = datetime(2026, 3, 1, tzinfo=UTC)
STREAM = UUID(int=77)

LEASED = {
    "job.claimed",
    "job.succeeded",
    "job.attempt_failed",
    "job.snoozed",
    "job.parked",
    "job.released",
    "job.lease_expired",
    "fulfillment.attempt_started",
    "fulfillment.attempt_failed",
    "fulfillment.interrupted",
    "fulfillment.parked",
    "fulfillment.succeeded",
    "goods.purchase_submitted",
    "goods.purchase_withdrawn",
    "goods.purchase_confirmed",
    "goods.purchase_accepted",
    "goods.purchase_refused",
}
"""Tags that are written under a lease, so by workers alone."""

moments = st.integers(0, 5000).map(lambda hours: START + timedelta(hours=hours))
maybe = st.none() | moments
ids = st.integers(1, 3).map(lambda n: UUID(int=n))
codes = st.sampled_from(["remnawave_http_503", "maintenance_active", "covered_by"])
versions = st.integers(1, 6)
limits = st.none() | st.integers(0, 9)

desired = st.builds(
    Desired,
    ends_at=moments,
    grace_seconds=st.integers(0, 9),
    traffic_bytes=limits,
    device_limit=limits,
    squad_ids=st.lists(st.sampled_from(["a", "b"])).map(tuple),
    reset_traffic=st.booleans(),
)
observed = st.builds(
    Observed,
    panel_user_id=st.integers(1, 9),
    status=st.sampled_from(["ACTIVE", "DISABLED"]),
    expire_at=moments,
    traffic_limit_bytes=st.integers(0, 9),
    device_limit=limits,
    squads=st.integers(0, 3),
)


@st.composite
def upcoming(draw: st.DrawFn) -> tuple[Upcoming, ...]:
    """What is to come, by rising version as it is stored."""
    rising = sorted(draw(st.sets(versions, max_size=3)))
    return tuple(
        Upcoming(
            version=version,
            desired=draw(desired),
            effective_at=draw(moments),
            paid_at=START,
        )
        for version in rising
    )


operation_births = st.builds(
    fulfillment.Requested,
    entitlement=ids,
    order=st.none() | ids,
    operation=st.sampled_from(["create", "reconcile"]),
    desired_version=versions,
    desired=desired,
    effective_at=moments,
    idempotency_key=st.just("k"),
)
operation_lives = st.one_of(
    st.builds(
        fulfillment.AttemptStarted, attempt=versions, calls=st.just(("find", "create"))
    ),
    st.builds(
        fulfillment.AttemptFailed, attempt=versions, code=codes, retry_at=moments
    ),
    st.builds(fulfillment.Interrupted, attempt=versions, cause=codes),
    st.builds(fulfillment.Parked, cause=codes),
    st.builds(fulfillment.Succeeded, attempt=versions, observed=observed),
    st.builds(fulfillment.Failed, attempt=versions, code=codes),
    st.builds(fulfillment.Cancelled, code=codes, covered_by=st.none() | ids),
    st.builds(fulfillment.Retried),
)

_settled: dict[str, Any] = {
    "order_id": st.just("o1"),
    "customer_id": st.just("c1"),
    "slot": st.integers(1, 3),
    "currency": st.just("USD"),
    "amount_minor": st.integers(0, 2**53),
    "discount_minor": st.integers(0, 9),
}
_owed: dict[str, Any] = {"effective_at": maybe, "lines": st.just(())}
order_births = st.one_of(
    st.builds(order.Paid, kind=st.just("purchase"), **_settled, **_owed),
    st.builds(order.AddonPurchased, kind=st.just("addon"), **_settled, **_owed),
    st.builds(order.WalletCredited, **_settled),
)
fulfilled = st.builds(order.Fulfilled, operation=ids)
refunded = st.builds(
    order.Refunded,
    lines=st.just((1,)),
    amount_minor=st.integers(0, 9),
    reason=st.just("SECRET-of-the-customer"),
)
order_lives: st.SearchStrategy[list[Event]] = st.one_of(
    st.just([]),
    fulfilled.map(lambda done: [done]),
    refunded.map(lambda back: [back]),
    st.tuples(fulfilled, refunded).map(list),
)

owed = st.builds(
    goods.Owed,
    order=ids,
    order_id=st.just("o1"),
    customer_id=st.just("c1"),
    line=st.integers(1, 3),
    provider=st.sampled_from(["stars", "premium"]),
    product=st.builds(goods.Product, kind=st.just("telegram_stars")),
    quantity=st.integers(1, 3),
    recipient=st.just("SECRET-name"),
    currency=st.just("USD"),
    cost_minor=st.integers(0, 9),
    price_minor=st.integers(0, 9),
    paid_minor=st.integers(0, 9),
)
references = st.none() | st.sampled_from(["T-1", "T-2"])
senders = st.builds(
    goods.Sender,
    host=st.just("h"),
    machine=st.just("m"),
    pid=st.integers(1, 2),
    started=st.just(1),
    boot=ids,
)
verdicts = st.sampled_from(["delivered", "not_purchased", "buy_again"])
decisions = st.integers(1, 6)
goods_lives = st.one_of(
    st.builds(
        goods.PurchaseSubmitted,
        decision=decisions,
        purchase=decisions,
        key=st.just("k"),
        token=versions,
        deadline=moments,
        expires_at=maybe,
        repeat_until=maybe,
        sender=senders,
    ),
    st.builds(
        goods.PurchaseWithdrawn, decision=decisions, purchase=decisions, cause=codes
    ),
    st.builds(goods.PurchaseConfirmed, decision=decisions, reference=references),
    st.builds(
        goods.PurchaseAccepted,
        decision=decisions,
        reference=references,
        next_at=maybe,
    ),
    st.builds(
        goods.PurchaseRefused,
        decision=decisions,
        failure_class=st.sampled_from(["retryable", "permanent"]),
        code=codes,
        next_at=maybe,
    ),
    st.builds(
        goods.PurchaseUnknown,
        quiet_at=maybe,
        decision=decisions,
        code=st.sampled_from(["timeout", "restored"]),
        is_sender_gone=st.booleans(),
        restored_at=maybe,
    ),
    st.builds(
        goods.SenderEnded,
        quiet_at=maybe,
        sender=senders,
        how=codes,
        purchase=st.none() | decisions,
    ),
    st.builds(
        goods.Reconciled,
        decision=decisions,
        found=st.sampled_from(["delivered", "accepted", "refused", "absent"]),
        reference=references,
        code=st.none() | codes,
        is_conclusive=st.booleans(),
    ),
    st.builds(goods.ReviewOpened, decision=decisions, code=codes),
    st.builds(
        goods.DecisionProposed,
        by=st.builds(Actor, st.just("operator"), st.sampled_from(["ann", "bob"])),
        verdict=verdicts,
        evidence=st.just("SECRET-of-a-person"),
        is_override=st.booleans(),
    ),
    st.builds(
        goods.ReviewDecided,
        verdict=verdicts,
        evidence=st.just("SECRET-of-a-person"),
        is_override=st.booleans(),
        proposed_by=st.none(),
    ),
    st.builds(goods.Deferred, code=codes, until=moments),
    st.builds(goods.Delivered, reference=references),
    st.builds(goods.Failed, code=codes),
    st.builds(
        goods.Refunded,
        amount_minor=st.integers(0, 9),
        currency=st.just("USD"),
        code=codes,
    ),
    st.builds(goods.Cancelled, code=codes),
    st.builds(goods.Retried),
)

entitlement_births = st.builds(
    entitlement.Granted,
    customer_id=st.just("c1"),
    slot=st.integers(1, 3),
    username=st.just("u"),
    legacy_username=st.none(),
)
told = st.one_of(
    st.builds(lambda value: {"value": value}, limits),
    st.just({"exists": False}),
    st.lists(st.sampled_from(["a", "b"])).map(tuple),
    st.sampled_from(["active", "paused"]),
)
drifts = st.one_of(
    st.builds(
        entitlement.DriftDetected,
        kind=st.sampled_from(KINDS[:2]),
        expected=told,
        observed=told,
    ),
    st.builds(entitlement.DriftResolved, kind=st.sampled_from(KINDS[:2])),
)
standings = st.one_of(
    st.builds(
        entitlement.DesiredChanged,
        desired_version=versions,
        desired=desired,
        paid_at=moments,
        order=st.none() | ids,
        upcoming=upcoming(),
        paused_at=maybe,
    ),
    st.builds(entitlement.Disabled, desired_version=versions),
    st.builds(entitlement.Enabled, desired_version=versions),
)
entitlement_lives = st.one_of(
    standings,
    st.builds(entitlement.Paused, desired_version=versions, paused_at=moments),
    st.builds(
        entitlement.Resumed,
        desired_version=versions,
        desired=desired,
        upcoming=upcoming(),
    ),
    st.builds(entitlement.Seen, observed=observed),
    drifts,
)

actors = st.builds(
    Actor,
    st.sampled_from(ActorType.__value__.__args__),
    st.sampled_from(["ann", "bob"]),
)
metas = st.builds(
    Meta,
    actor=actors,
    correlation_id=st.sampled_from(["c1", "c2"]),
    causation=st.builds(Causation, request_id=st.none() | st.just("req-1")),
    commit_id=st.none() | ids,
    reason=st.none() | st.just("because"),
)


@st.composite
def history(
    draw: st.DrawFn,
    births: st.SearchStrategy[Event],
    lives: st.SearchStrategy[list[Event]],
) -> list[RecordedEvent]:
    """One stream: its birth, then whatever happened."""
    return draw(recorded([draw(births), *draw(lives)]))


def any_order(lives: st.SearchStrategy[Event]) -> st.SearchStrategy[list[Event]]:
    """Return lists of events that make sense or do not."""
    return st.lists(lives, min_size=4, max_size=14)


@st.composite
def recorded(draw: st.DrawFn, events: list[Event]) -> list[RecordedEvent]:
    """Events as a log would hold them, with whatever in between."""
    position, at, found = 0, START, []
    for version, event in enumerate(events, start=1):
        position += draw(st.integers(1, 3))
        at += timedelta(microseconds=draw(st.sampled_from([0, 1, 10**6])))
        found.append(
            RecordedEvent(
                position=position,
                tenant_id="default",
                stream_id=STREAM,
                version=version,
                tag=event.tag,
                schema=event.schema,
                event=event,
                meta=draw(metas),
                recorded_at=at,
            )
        )
    return found


def as_told(events: list[RecordedEvent]) -> list[Told]:
    """Return events as the database tells them."""
    return [
        Told(
            position=it.position,
            tenant_id=it.tenant_id,
            stream_id=it.stream_id,
            version=it.version,
            type=it.tag,
            data=json.loads(msgspec.json.encode(it.event)),
            meta=json.loads(msgspec.json.encode(it.meta)),
            at=it.recorded_at,
        )
        for it in events
    ]


def folded[R: msgspec.Struct](
    projection: Projection[R], events: list[RecordedEvent]
) -> Rows:
    """Return the rows that a projection makes of events, one by one."""
    rows: dict[Key, R] = {}
    for event in events:
        if type(event.event) not in projection.events:
            continue
        keys = projection.keys(event)
        assert len(set(keys)) == len(keys)
        for key in keys:
            row = rows.pop(key, None)
            assert row is None or not projection.is_birth(event)
            after = projection.fold(key, row, event)
            if after is not None:
                rows[key] = after
    return {key: _plain(row) for key, row in rows.items()}


def _plain(row: msgspec.Struct) -> Row:
    return msgspec.structs.asdict(row)
