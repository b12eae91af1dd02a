"""A request with one fault is refused by SQL and Python alike, and writes nothing."""

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import LiteralString

import psycopg
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from domain.errors import InvalidRequestError
from domain.order.parse import parse
from domain.order.refund import parse as parse_refund
from tests.fixtures.database import ON_BOTH_SERVERS
from tests.front_door import rows
from tests.front_door.asked import (
    Fault,
    Request,
    addons,
    jobs,
    json_values,
    orders,
    put,
    refunds,
    sales,
)
from tests.front_door.faults import (
    ADDON_FAULTS,
    GOODS,
    GOODS_FAULTS,
    JOB_FAULTS,
    NOT_AN_OBJECT,
    REFUND_FAULTS,
    SECOND_LINES,
    SETTLEMENT_FAULTS,
)
from tests.front_door.rows import Connection

pytestmark = [pytest.mark.database, ON_BOTH_SERVERS]

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SETTLE = "SELECT counterfoil.settle_order(%s::jsonb)"
ENQUEUE = "SELECT counterfoil.enqueue(%s::jsonb)"
REFUND = "SELECT counterfoil.refund_order(%s::jsonb)"
ACCEPT = "SELECT counterfoil.accepted_settlement(%s::jsonb, %s)"
ACCEPT_REFUND = "SELECT counterfoil.accepted_refund(%s::jsonb)"
ORDER: Request = {
    "orderId": "o",
    "customerId": "c",
    "kind": "purchase",
    "currency": "USD",
    "amountMinor": 1,
    "lines": [{"line": 1, "type": "access", "days": 30}],
}
ADDON: Request = ORDER | {
    "kind": "addon",
    "lines": [{"line": 1, "type": "access", "trafficBytes": 5}],
}
SALE: Request = ORDER | {"lines": [GOODS]}
REFUNDED: Request = {"orderId": "o", "reason": "charged back"}
SETTLING_FAULTS = (*SETTLEMENT_FAULTS, *GOODS_FAULTS, *ADDON_FAULTS)
PATHS = sorted({fault.path for fault in SETTLING_FAULTS})
ON_ONE_DATABASE = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)

type Refusal = tuple[str, str] | None


def by_sql(connection: Connection, query: LiteralString, *values: object) -> Refusal:
    """Return code and path of the refusal, or None when it was accepted."""
    try:
        with connection.transaction(force_rollback=True):
            connection.execute(query, values)
    except psycopg.DatabaseError as error:
        if error.sqlstate != "CF400":
            raise
        code, _, _ = (error.diag.message_primary or "").partition(": ")
        return code, error.diag.message_detail or ""
    return None


def by_python(request: object) -> Refusal:
    return refusal(lambda: parse(request, NOW))


def refund_by_python(request: object) -> Refusal:
    return refusal(lambda: parse_refund(request))


def refusal(ask: Callable[[], object]) -> Refusal:
    try:
        ask()
    except InvalidRequestError as error:
        return error.code, error.path
    return None


def position(connection: Connection) -> int:
    (last,) = rows.one(connection, "SELECT counterfoil.last_position()")
    return int(last)


@pytest.fixture
def untouched(connection: Connection) -> Iterator[None]:
    """Check at the end that nothing was written and no position was drawn."""
    before = position(connection)
    yield
    assert set(rows.counted(connection).values()) == {0}
    assert position(connection) == before


@pytest.mark.usefixtures("untouched")
@pytest.mark.parametrize(
    ("right", "faults"),
    [(ORDER, SETTLEMENT_FAULTS), (SALE, GOODS_FAULTS), (ADDON, ADDON_FAULTS)],
    ids=["purchase", "goods", "addon"],
)
def test_each_single_fault_is_refused_with_its_code_and_path(
    connection: Connection, right: Request, faults: tuple[Fault, ...]
) -> None:
    said: dict[str, tuple[Refusal, Refusal]] = {}
    for fault in faults:
        request = put(right, fault.path, fault.value)

        answers = by_sql(connection, SETTLE, json.dumps(request)), by_python(request)

        if answers != ((fault.code, fault.path),) * 2:
            said[f"{fault}"] = answers
    assert said == {}


@given(
    request=orders | sales | addons,
    fault=st.sampled_from(SETTLING_FAULTS),
)
@ON_ONE_DATABASE
@pytest.mark.usefixtures("untouched")
def test_a_fault_in_any_request_is_refused_by_both_with_one_word(
    connection: Connection, request: Request, fault: Fault
) -> None:
    wrong = put(request, fault.path, fault.value)

    told = by_python(wrong)
    assume(told is not None)  # wrong for an add-on alone, or no days, but an end

    assert by_sql(connection, SETTLE, json.dumps(wrong)) == told


@given(request=orders | sales | addons, path=st.sampled_from(PATHS), value=json_values)
@ON_ONE_DATABASE
@pytest.mark.usefixtures("untouched")
def test_sql_and_python_agree_on_any_value_of_any_member(
    connection: Connection, request: Request, path: str, value: object
) -> None:
    """Accepted by both, or refused by both with one code and path."""
    changed = put(request, path, value)

    assert by_sql(connection, ACCEPT, json.dumps(changed), NOW) == by_python(changed)


@pytest.mark.usefixtures("untouched")
@pytest.mark.parametrize(("fault", "path"), SECOND_LINES)
def test_a_second_line_is_refused_by_its_own_path(
    connection: Connection, fault: Fault, path: str
) -> None:
    request = put(ORDER, fault.path, fault.value)

    assert by_sql(connection, SETTLE, json.dumps(request)) == (fault.code, path)
    assert by_python(request) == (fault.code, path)


@pytest.mark.usefixtures("untouched")
def test_what_is_no_object_is_refused(connection: Connection) -> None:
    for request in NOT_AN_OBJECT:
        text = json.dumps(request)

        assert by_sql(connection, SETTLE, text) == ("invalid_member", "")
        assert by_sql(connection, ENQUEUE, text) == ("invalid_member", "")
        assert by_sql(connection, REFUND, text) == ("invalid_member", "")
        assert refund_by_python(request) == ("invalid_member", "")
        assert by_python(request) == ("invalid_member", "")
    assert by_sql(connection, SETTLE, None) == ("invalid_member", "")


@pytest.mark.usefixtures("untouched")
def test_a_topup_with_lines_is_refused(connection: Connection) -> None:
    topup = put(ORDER, "kind", "topup")

    assert by_sql(connection, SETTLE, json.dumps(topup)) == ("invalid_member", "lines")
    assert by_python(topup) == ("invalid_member", "lines")


@pytest.mark.usefixtures("untouched")
@pytest.mark.parametrize("kind", ["renewal", "extension", "upgrade", "downgrade"])
def test_only_a_purchase_may_be_of_goods_alone(
    connection: Connection, kind: str
) -> None:
    alone = put(SALE, "kind", kind)

    assert by_python(alone) == ("missing_member", "lines")
    assert by_sql(connection, SETTLE, json.dumps(alone)) == by_python(alone)


@pytest.mark.usefixtures("untouched")
def test_days_and_an_end_together_are_refused(connection: Connection) -> None:
    both = put(ORDER, "lines[0].endsAt", "2030-01-01T00:00:00Z")

    assert by_python(both) == ("invalid_member", "lines[0].endsAt")
    assert by_sql(connection, SETTLE, json.dumps(both)) == by_python(both)


@pytest.mark.usefixtures("untouched")
def test_a_squad_named_twice_is_refused_whatever_its_case(
    connection: Connection,
) -> None:
    squad = "0f8fad5b-d9cb-469f-a165-70867728950e"
    twice = put(ORDER, "lines[0].squadIds", [squad, squad.upper()])

    assert by_python(twice) == ("invalid_member", "lines[0].squadIds[1]")
    assert by_sql(connection, SETTLE, json.dumps(twice)) == by_python(twice)


@pytest.mark.usefixtures("untouched")
def test_each_single_fault_of_a_refund_is_refused_with_its_code_and_path(
    connection: Connection,
) -> None:
    said: dict[str, tuple[Refusal, Refusal]] = {}
    for fault in REFUND_FAULTS:
        request = put(REFUNDED, fault.path, fault.value)

        by_both = (
            by_sql(connection, REFUND, json.dumps(request)),
            refund_by_python(request),
        )

        if by_both != ((fault.code, fault.path),) * 2:
            said[f"{fault}"[:200]] = by_both
    assert said == {}


@pytest.mark.usefixtures("untouched")
def test_a_line_that_is_refunded_twice_is_refused_by_its_index(
    connection: Connection,
) -> None:
    twice = REFUNDED | {"lines": [2, 1, 2]}

    assert refund_by_python(twice) == ("invalid_member", "lines[2]")
    assert by_sql(connection, REFUND, json.dumps(twice)) == refund_by_python(twice)


@given(
    request=refunds,
    path=st.sampled_from(sorted({fault.path for fault in REFUND_FAULTS})),
    value=json_values,
)
@ON_ONE_DATABASE
@pytest.mark.usefixtures("untouched")
def test_sql_and_python_agree_on_any_value_of_any_member_of_a_refund(
    connection: Connection, request: Request, path: str, value: object
) -> None:
    changed = put(request, path, value)

    by_both = by_sql(connection, ACCEPT_REFUND, json.dumps(changed))

    assert by_both == refund_by_python(changed)


@pytest.mark.usefixtures("untouched")
def test_each_single_fault_of_a_job_is_refused_with_its_code_and_path(
    connection: Connection,
) -> None:
    said: dict[str, Refusal] = {}
    for fault in JOB_FAULTS:
        request = put({"kind": "mail"}, fault.path, fault.value)

        answer = by_sql(connection, ENQUEUE, json.dumps(request))

        if answer != (fault.code, fault.path):
            said[f"{fault}"[:200]] = answer
    assert said == {}


@given(request=jobs, fault=st.sampled_from(JOB_FAULTS))
@ON_ONE_DATABASE
@pytest.mark.usefixtures("untouched")
def test_a_fault_in_any_job_is_refused(
    connection: Connection, request: Request, fault: Fault
) -> None:
    wrong = put(request, fault.path, fault.value)

    refused = by_sql(connection, ENQUEUE, json.dumps(wrong))

    assert refused == (fault.code, fault.path)
