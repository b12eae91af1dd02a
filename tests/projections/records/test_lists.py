"""Lists of records: every filter leaves what a naive one leaves, in order."""

import re
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any, Final, NamedTuple
from uuid import UUID

import msgspec
import pytest

from domain.errors import InvalidRequestError
from projections.queries.page import Page
from projections.queries.records.audit import AuditList
from projections.queries.records.drifts import DriftList
from projections.queries.records.entitlements import EntitlementList
from projections.queries.records.operations import OperationList
from projections.queries.records.orders import OrderList
from projections.queries.records.related import EVERYTHING
from projections.queries.terms import Among, Asked, Between
from projections.read_models.all import BY_NAME
from tests.fixtures.read_models import (
    assert_read_model_holds,
    live_slot,
    position_of,
)
from tests.projections.records.life import Life

pytestmark = pytest.mark.database

type Ask = Callable[[Asked], Page[Any]]


class Listed(NamedTuple):
    """A list, and which member of a line each of its fields is about."""

    of: Callable[[Any], Any]
    members: dict[str, str]
    ranges: dict[str, str]


LISTS: Final = {
    "operations": Listed(
        OperationList,
        {
            "state": "state",
            "operation": "operation",
            "code": "code",
            "entitlement": "entitlement_id",
            "customer": "customer_id",
            "order": "order_id",
            "id": "stream_id",
            "tenant": "tenant_id",
        },
        {"created_at": "created_at"},
    ),
    "orders": Listed(
        OrderList,
        {
            "state": "state",
            "kind": "kind",
            "customer": "customer_id",
            "order": "order_id",
            "id": "stream_id",
            "tenant": "tenant_id",
        },
        {"created_at": "created_at"},
    ),
    "entitlements": Listed(
        EntitlementList,
        {
            "state": "state",
            "customer": "customer_id",
            "id": "stream_id",
            "tenant": "tenant_id",
        },
        {"created_at": "created_at", "ends_at": "planned_ends_at"},
    ),
    "drifts": Listed(
        DriftList,
        {
            "state": "state",
            "kind": "kind",
            "entitlement": "stream_id",
            "customer": "customer_id",
            "tenant": "tenant_id",
        },
        {"position": "position"},
    ),
    "audit": Listed(
        AuditList,
        {
            "actor": "actor_id",
            "action": "action",
            "target": "target",
            "outcome": "outcome",
            "tenant": "tenant_id",
        },
        {"at": "recorded_at", "position": "position"},
    ),
}

every_list = pytest.mark.parametrize("name", LISTS)


def pages(ask: Ask, asked: Asked) -> Iterator[Page[Any]]:
    page = ask(asked)
    yield page
    while page.next is not None:
        page = ask(msgspec.structs.replace(asked, after=page.next))
        yield page


def all_of(ask: Ask, asked: Asked = EVERYTHING) -> list[Any]:
    return [line for page in pages(ask, asked) for line in page.items]


@every_list
def test_rows_are_what_the_log_and_the_book_say(lived: Life, name: str) -> None:
    """I7: through the engine, in small batches."""
    assert_read_model_holds(lived.connection, BY_NAME[name])


@every_list
def test_every_value_of_every_field_leaves_exactly_its_rows(
    lived: Life, name: str
) -> None:
    listed = LISTS[name]
    ask = listed.of(lived.lend)
    everything = all_of(ask)
    assert len(everything) > 1

    for field, member in listed.members.items():
        told = [getattr(line, member) for line in everything]
        values = sorted({value for value in told if value is not None}, key=str)
        assert values, f"nobody has a {member}"
        for some in [(value,) for value in values] + [tuple(values[:3])]:
            wanted = [it for it in everything if getattr(it, member) in some]
            found = all_of(ask, Asked(terms=(Among(field, some),)))
            assert found == wanted, (field, some)


@every_list
def test_bounds_leave_exactly_their_rows(lived: Life, name: str) -> None:
    listed = LISTS[name]
    ask = listed.of(lived.lend)
    everything = all_of(ask)

    for field, member in listed.ranges.items():
        values = sorted(getattr(line, member) for line in everything)
        least, below = values[len(values) // 3], values[-1]
        wanted = [it for it in everything if least <= getattr(it, member) < below]
        asked = Asked(terms=(Between(field, least=least, below=below),))
        assert all_of(ask, asked) == wanted
        assert 0 < len(wanted) < len(everything)


@every_list
def test_pages_are_the_list_in_pieces_and_tell_their_moment(
    lived: Life, name: str
) -> None:
    listed = LISTS[name]
    ask = listed.of(lived.lend)
    everything = all_of(ask)
    projection = BY_NAME[name]
    slot = live_slot(lived.connection, projection)
    position = position_of(lived.connection, projection, slot)

    for page in pages(ask, Asked(limit=2)):
        assert page.as_of.position == position > 0
        assert len(page.items) <= 2
    assert all_of(ask, Asked(limit=2)) == everything
    counted = ask(Asked(limit=1, is_counted=True)).count
    assert counted is not None
    assert (counted.value, counted.relation) == (len(everything), "eq")


@every_list
def test_what_is_not_declared_is_refused_by_name(lived: Life, name: str) -> None:
    ask = LISTS[name].of(lived.lend)

    with pytest.raises(InvalidRequestError, match="tenant") as refused:
        ask(Asked(terms=(Among("password", ("x",)),)))

    assert refused.value.code == "invalid_filter"


@pytest.mark.parametrize("name", ["operations", "drifts"])
def test_nobodys_records_are_an_empty_page(lived: Life, name: str) -> None:
    ask = LISTS[name].of(lived.lend)

    page = ask(Asked(terms=(Among("customer", ("nobody at all",)),), is_counted=True))

    assert (page.items, page.next, page.count.value) == ((), None, 0)
    for value in (1, "a\0b", "\ud800"):
        with pytest.raises(InvalidRequestError, match="customer"):
            ask(Asked(terms=(Among("customer", (value,)),)))
    for terms in (Among("tenant", ("\ud800",)), Between("customer", least=1)):
        with pytest.raises(InvalidRequestError):
            ask(Asked(terms=(Among("customer", ("ann",)), terms)))


def test_by_default_operations_need_a_human_and_drifts_are_open(lived: Life) -> None:
    failed = OperationList(lived.lend)()
    opened = DriftList(lived.lend)()

    assert [(it.order_id, it.state, it.code) for it in failed.items] == [
        ("person", "failed", "remnawave_http_400")
    ]
    assert {it.kind: it.episodes for it in opened.items} == {
        "traffic": 2,
        "device_limit": 1,
    }
    user = lived.user("drifting").id
    assert {(it.customer_id, it.panel_user_id) for it in opened.items} == {
        ("drifting", user)
    }
    for drift in opened.items:
        assert drift.expected != drift.observed
        assert set(drift.observed) == {"value"}


COMMON: Final = {
    "operations": (
        "state, attempts, code, parked_cause, next_attempt_at, covered_by, "
        "desired_version, effective_at, correlation_id"
    ),
    "orders": "state, order_id, fulfilled_by, amount_minor, correlation_id",
    "entitlements": "username, paused_at, disabled_version, desired_version",
}
"""Columns that a head and its read model have both."""


@pytest.mark.parametrize("name", COMMON)
def test_read_models_tell_what_heads_tell(lived: Life, name: str) -> None:
    slot = live_slot(lived.connection, BY_NAME[name])
    heads, rows = (
        lived.connection.execute(
            f"SELECT stream_id, {COMMON[name]} FROM counterfoil.{table} ORDER BY 1"  # noqa: S608 - names of ours
        ).fetchall()
        for table in (name, f"read_{name}_{slot}")
    )

    assert rows == heads
    assert len(rows) > 10


def test_an_entitlement_tells_how_far_the_panel_was_brought(lived: Life) -> None:
    lines = {it.customer_id: it for it in all_of(EntitlementList(lived.lend))}

    paused, disabled = lines["paused"], lines["disabled"]
    assert (paused.state, disabled.state) == ("paused", "disabled")
    assert paused.applied_version == paused.desired_version == 2
    # What was settled for later moves the version, and nobody has carried it yet.
    assert (disabled.applied_version, disabled.desired_version) == (2, 3)
    assert disabled.enables_at == disabled.changes_at
    assert disabled.enables_at is not None
    assert disabled.enables_at.year == 2099
    assert disabled.planned_ends_at - disabled.ends_at > timedelta(days=1000)
    assert set(lines["drifting"].drifts) == {"traffic", "device_limit"}
    assert lines["person"].observed_status is None


def test_the_audit_tells_every_action_and_refusal(lived: Life) -> None:
    """I9: who, what, of what, with what outcome and for which reason."""
    lines = all_of(AuditList(lived.lend))
    assert not any(it.is_part for it in lines)
    told = {
        (it.actor_id, it.action, it.target_kind, it.outcome, it.code): it
        for it in lines
    }

    refused = told["ann", "resume", "entitlement", "refused", "state_conflict"]
    assert (refused.target, refused.reason) == ("customer:ann", "the customer asked")
    paused = told["bob", "projection.paused", "projection", "accepted", None]
    assert (paused.target, paused.reason) == ("projection:drifts", "it looked wrong")
    missing = told["bob", "pause_projection", "projection", "refused", "not_found"]
    assert missing.target == "projection:nothing"
    cancelled = told[
        "ann", "panel.fulfillment.cancelled", "operation", "accepted", None
    ]
    assert cancelled.target == str(lived.operation("cancelled"))
    assert cancelled.category == "system"
    assert cancelled.before is not None
    assert cancelled.after is not None
    assert told["olga", "maintenance.closed", "maintenance", "accepted", None]
    # One action, and its parts: what is owed, the operation and its job.
    (pause,) = (
        it.commit_id
        for it in lines
        if it.action == "operation.requested"
        and it.target == str(entitlement_of_ann(lived))
        and "pause" in str(it.after)
    )
    assert pause is not None
    asked = Asked(terms=(Among("commit", (pause,)),))
    parts = AuditList(lived.lend)(asked).items
    assert {it.action: it.is_part for it in parts} == {
        "operation.requested": False,
        "entitlement.paused": True,
        "fulfillment.requested": True,
        "job.enqueued": True,
    }


def entitlement_of_ann(life: Life) -> UUID:
    """Return the entitlement of the customer `ann`, by its list."""
    asked = Asked(terms=(Among("customer", ("ann",)),))
    (line,) = EntitlementList(life.lend)(asked).items
    return line.stream_id


CANARIES: Final = ("charged back", "Идут работы", "We are at work")
"""What a shop says of a customer, and what customers are told."""


@every_list
def test_too_many_values_are_refused(lived: Life, name: str) -> None:
    ask = LISTS[name].of(lived.lend)
    field = "customer" if "customer" in LISTS[name].members else "actor"

    for values in ((), tuple(f"c{n}" for n in range(101))):
        with pytest.raises(InvalidRequestError, match=field):
            ask(Asked(terms=(Among(field, values),)))


@every_list
def test_no_list_shows_what_belongs_to_others(lived: Life, name: str) -> None:
    """I12: no reason of a shop, no notice, no argument."""
    shown = msgspec.json.encode(all_of(LISTS[name].of(lived.lend))).decode()

    for canary in CANARIES:
        assert canary not in shown
    assert '"args"' not in shown
    assert "tenantId" in shown
    assert "_" not in "".join(re.findall(r'"(\w+)":', shown)).replace(
        "device_limit", ""
    )


def test_pages_stay_complete_while_orders_come_in(lived_alone: Life) -> None:
    life = lived_alone
    for number in range(9):
        life.settle(f"early{number}")
    life.project()
    ask = OrderList(life.lend)
    page = ask(Asked(limit=4))
    seen = [line.order_id for line in page.items]

    while page.next is not None:
        life.settle(f"late{len(seen)}")
        life.project()
        page = ask(Asked(limit=4, after=page.next))
        seen += [line.order_id for line in page.items]

    assert seen == [f"early{number}" for number in reversed(range(9))]
