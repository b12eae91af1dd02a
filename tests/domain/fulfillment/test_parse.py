"""What a person may name when asking for an operation."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET

from domain.entitlement.commands import Given
from domain.errors import InvalidRequestError
from domain.fulfillment.operations import BY_OPERATORS, CREATE, KNOWN
from domain.fulfillment.parse import read_operation, read_parameters

SQUAD = "11111111-1111-4111-8111-111111111111"


def test_every_operation_is_a_persons_but_create() -> None:
    assert {read_operation(name) for name in BY_OPERATORS} == KNOWN - {CREATE}


@pytest.mark.parametrize("name", ["create", "delete", "", "PAUSE"])
def test_no_other_operation_can_be_asked_for(name: str) -> None:
    with pytest.raises(InvalidRequestError) as refused:
        read_operation(name)

    assert (refused.value.code, refused.value.path) == (
        "unsupported_operation",
        "operation",
    )


RIGHT: list[tuple[str, dict[str, object], Given]] = [
    ("pause", {}, Given()),
    (
        "extend",
        {"endsAt": "2030-01-31T12:00:00+03:00"},
        Given(ends_at=datetime(2030, 1, 31, 9, tzinfo=UTC)),
    ),
    ("set_limits", {"trafficBytes": 0}, Given(traffic_bytes=0)),
    (
        "set_limits",
        {"trafficBytes": None, "deviceLimit": 2},
        Given(traffic_bytes=None, device_limit=2),
    ),
    ("set_limits", {"deviceLimit": None}, Given(device_limit=None)),
    ("set_squads", {"squadIds": []}, Given(squad_ids=())),
    ("set_squads", {"squadIds": [SQUAD.upper()]}, Given(squad_ids=(SQUAD,))),
]


@pytest.mark.parametrize(("operation", "members", "given_"), RIGHT)
def test_what_is_named_is_read_and_what_is_not_stays_unset(
    operation: str, members: dict[str, object], given_: Given
) -> None:
    assert read_parameters(operation, members) == given_


WRONG: list[tuple[str, object, str, str]] = [
    ("extend", {}, "missing_member", "endsAt"),
    ("extend", {"endsAt": None}, "missing_member", "endsAt"),
    ("extend", {"endsAt": "2030-01-31"}, "invalid_member", "endsAt"),
    ("extend", {"endsAt": "2030-01-31T12:00:00"}, "invalid_member", "endsAt"),
    ("extend", {"days": 3}, "unknown_member", "days"),
    ("set_limits", {}, "missing_member", "deviceLimit"),
    ("set_limits", {"deviceLimit": 0}, "invalid_member", "deviceLimit"),
    ("set_limits", {"deviceLimit": 2**31}, "invalid_member", "deviceLimit"),
    ("set_limits", {"trafficBytes": -1}, "invalid_member", "trafficBytes"),
    ("set_limits", {"trafficBytes": 2**53}, "invalid_member", "trafficBytes"),
    ("set_limits", {"trafficBytes": 1.0}, "invalid_member", "trafficBytes"),
    ("set_limits", {"squadIds": []}, "unknown_member", "squadIds"),
    ("set_squads", {}, "missing_member", "squadIds"),
    ("set_squads", {"squadIds": None}, "invalid_member", "squadIds"),
    ("set_squads", {"squadIds": ["x"]}, "invalid_member", "squadIds[0]"),
    ("set_squads", {"squadIds": [SQUAD, SQUAD]}, "invalid_member", "squadIds[1]"),
    ("pause", {"endsAt": None}, "unknown_member", "endsAt"),
    ("reconcile", [], "invalid_member", ""),
]


@pytest.mark.parametrize(("operation", "members", "code", "path"), WRONG)
def test_what_is_wrong_is_refused_with_its_path(
    operation: str, members: object, code: str, path: str
) -> None:
    with pytest.raises(InvalidRequestError) as refused:
        read_parameters(operation, members)

    assert (refused.value.code, refused.value.path) == (code, path)


VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-1, 2**54),
    st.floats(),
    st.text(max_size=30),
    st.just("2030-01-31T12:00:00Z"),
    st.lists(st.one_of(st.just(SQUAD), st.text(max_size=5)), max_size=3),
)
NAMES = st.sampled_from(["endsAt", "trafficBytes", "deviceLimit", "squadIds", "other"])


@given(st.sampled_from(BY_OPERATORS), st.dictionaries(NAMES, VALUES))
def test_whatever_is_said_is_read_within_bounds_or_refused(
    operation: str, members: dict[str, object]
) -> None:
    try:
        read = read_parameters(operation, members)
    except InvalidRequestError:
        return
    assert read.grace_seconds is UNSET
    assert read.traffic_bytes in {UNSET, None} or 0 <= _int(read.traffic_bytes) < 2**53
    assert read.device_limit in {UNSET, None} or 0 < _int(read.device_limit) < 2**31
    assert (read == Given()) == (
        operation not in {"extend", "set_limits", "set_squads"}
    )


def _int(value: object) -> int:
    assert type(value) is int
    return value
