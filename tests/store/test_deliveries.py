"""Heads of deliveries: what is written is read, and nonsense is not written."""

from typing import Any

import psycopg
import pytest

from application.unit import Group, Locked, Refused
from domain.event import Instant
from domain.goods import aggregate
from domain.goods.commands import Cancel, EndSender, GoodsCommand
from domain.goods.state import GoodsDelivery
from domain.stream import Change, Ref, StreamKind
from infrastructure.ids import new_id
from infrastructure.postgres.batch_store import BatchStore
from infrastructure.postgres.heads.deliveries import DELIVERIES
from tests.domain.goods.deliveries import (
    AT,
    CONFIRM,
    DEAD,
    LOST,
    OLGA,
    OWE,
    RESTORE,
    REVIEW,
    TIMEOUT,
    accept,
    after,
    found,
    refuse,
    says,
    sender,
    submit,
)
from tests.fixtures.database import TestDatabase
from tests.store.groups import META, birth, births, written

pytestmark = pytest.mark.usefixtures("heads_equal_folds", "messages_equal_events")

PROPOSED = says("buy_again", OLGA, needs_second=True)
LIVES: tuple[tuple[GoodsCommand, ...], ...] = (
    (),
    (submit(expires_at=after(5), repeat_until=after(60)), LOST, submit(2), CONFIRM),
    (submit(), accept()),
    (submit(), refuse("permanent", "gateway_rejected")),
    (
        submit(),
        refuse(),
        submit(2),
        TIMEOUT,
        found("absent", decision=2),
        REVIEW,
        PROPOSED,
    ),
    (
        submit(),
        LOST,
        REVIEW,
        EndSender(sender=sender(), how="process_gone", at=AT),
        says("buy_again"),
    ),
    (submit(), LOST, REVIEW, says("not_purchased", is_override=True)),
    (submit(), TIMEOUT, RESTORE, found("refused", decision=3, is_conclusive=True)),
    (RESTORE, REVIEW),
    (DEAD,),
    (Cancel(code="order_refunded", refunds=False),),
)


def owe(store: BatchStore) -> Ref:
    ref = Ref(StreamKind.DELIVERY, new_id())
    unique = {"order": new_id()}
    asked = type(OWE)(**{**_members(OWE), **unique})
    born = birth(ref, *aggregate.decide(GoodsDelivery(), asked))
    (result,) = store.commit([births(born)])
    written(result)
    return ref


def _members(command: GoodsCommand) -> dict[str, Any]:
    return {name: getattr(command, name) for name in command.__struct_fields__}


def step(ref: Ref, command: GoodsCommand) -> Group:
    def decide(locked: Locked, _now: Instant) -> tuple[Change, ...] | Refused:
        head = locked[ref]
        assert head is not None
        assert isinstance(head.state, GoodsDelivery)
        events = aggregate.decide(head.state, command)
        change = Change(
            ref=ref,
            tenant_id=head.tenant_id,
            expected=head.state.version,
            events=events,
            state=aggregate.fold(events, head.state),
        )
        return (change,)

    return Group(refs=(ref,), decide=decide, meta=META)


def live(store: BatchStore, *commands: GoodsCommand) -> Ref:
    ref = owe(store)
    for command in commands:
        (result,) = store.commit([step(ref, command)])
        written(result)
    return ref


def test_a_head_is_read_as_it_was_written_at_every_point_of_a_life(
    database: TestDatabase, store: BatchStore
) -> None:
    """That each equals the fold of its stream is what the fixture looks at."""
    refs = [live(store, *commands) for commands in LIVES]

    rows = database.connect().execute(
        DELIVERIES.read, {"ids": [ref.id for ref in refs]}
    )

    states = {head.state for _, head in map(DELIVERIES.head, rows.fetchall())}
    assert len(states) == len(LIVES)


@pytest.mark.parametrize(
    ("commands", "topic", "said"),
    [
        (
            (submit(), CONFIRM),
            "goods.delivered",
            {"state": "delivered", "refunded_minor": None, "code": None},
        ),
        (
            (submit(), refuse("permanent", "sold_out")),
            "goods.refunded",
            {"state": "refunded", "refunded_minor": 190, "code": "sold_out"},
        ),
    ],
)
def test_how_a_delivery_ended_is_told_without_whom_it_was_for(
    database: TestDatabase,
    store: BatchStore,
    commands: tuple[GoodsCommand, ...],
    topic: str,
    said: dict[str, object],
) -> None:
    ref = live(store, *commands)

    rows = database.connect().execute("SELECT topic, data FROM counterfoil.outbox")

    ((told, data),) = rows.fetchall()
    assert told == topic
    assert data == said | {
        "delivery_id": str(ref.id),
        "order_stream_id": data["order_stream_id"],
        "order_id": "A-1",
        "customer_id": "C-1",
        "line": 2,
        "provider": "stars",
        "currency": "EUR",
        "paid_minor": 190,
    }


@pytest.mark.parametrize(
    "commands",
    [
        (submit(), CONFIRM),
        (submit(), refuse("permanent", "sold_out")),
        (Cancel(code="order_refunded", refunds=False),),
    ],
)
def test_i6_the_database_itself_keeps_what_is_final(
    database: TestDatabase, store: BatchStore, commands: tuple[GoodsCommand, ...]
) -> None:
    ref = live(store, *commands)

    for statement in (
        "UPDATE counterfoil.deliveries SET state = 'pending' WHERE stream_id = %s",
        "UPDATE counterfoil.deliveries SET reference = 'x' WHERE stream_id = %s",
        "DELETE FROM counterfoil.deliveries WHERE stream_id = %s",
    ):
        with pytest.raises(psycopg.DatabaseError) as refused:
            database.connect().execute(statement, (ref.id,))
        assert refused.value.sqlstate == "CF409"


PENDING, SUBMITTED, FAILED = (), (submit(),), (DEAD,)


def test_what_the_rules_exclude_cannot_be_stored(
    database: TestDatabase, store: BatchStore
) -> None:
    connection = database.connect()
    ids = {life: live(store, *life).id for life in (PENDING, SUBMITTED, FAILED)}

    for life, change, constraint in (
        (PENDING, "state = 'lost'", "state_known"),
        (SUBMITTED, "standing = 'perhaps'", "standing_known"),
        (PENDING, "withdraws_to = 'perhaps'", "standing_known"),
        (SUBMITTED, "purchases = 7", "purchases_budget"),
        (SUBMITTED, "decision = 2", "decisions_asked"),
        (SUBMITTED, "key = NULL", "key_decided"),
        (PENDING, "key = 'goods:x'", "key_decided"),
        (SUBMITTED, "standing = 'none'", "submitted_stands"),
        (SUBMITTED, "state = 'pending'", "open_stands"),
        (SUBMITTED, "state = 'needs_review', code = 'x'", "open_stands"),
        (FAILED, "code = NULL", "failed_says_why"),
        (PENDING, "paid_minor = -1", "amounts"),
        (PENDING, "quantity = 0", "amounts"),
        (FAILED, "state = 'refunded'", "refund_whole"),
        (FAILED, "refunded_minor = 190", "refund_whole"),
        (FAILED, "state = 'refunded', refunded_minor = 200", "refund_paid"),
    ):
        with pytest.raises(psycopg.errors.CheckViolation) as refused:
            connection.execute(
                f"UPDATE counterfoil.deliveries SET {change}"  # noqa: S608 - ours
                " WHERE stream_id = %s",
                (ids[life],),
            )
        assert refused.value.diag.constraint_name == f"deliveries_{constraint}", change


def test_a_line_is_owed_once_and_a_key_is_of_one_decision(
    database: TestDatabase, store: BatchStore
) -> None:
    first, second = live(store, submit()), live(store)

    for change, index in (
        ("order_stream_id = d.order_stream_id", "deliveries_line"),
        ("decision = 1, purchases = 1, key = d.key", "deliveries_key"),
    ):
        with pytest.raises(psycopg.errors.UniqueViolation) as refused:
            database.connect().execute(
                f"UPDATE counterfoil.deliveries e SET {change}"  # noqa: S608 - ours
                " FROM counterfoil.deliveries d"
                " WHERE d.stream_id = %s AND e.stream_id = %s",
                (first.id, second.id),
            )
        assert refused.value.diag.constraint_name == index
