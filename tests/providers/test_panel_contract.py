"""What `Panel` promises, kept by the adapter over HTTP and by the fake in memory."""

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from application.ports import (
    Access,
    Confirmed,
    Halted,
    Missing,
    Panel,
    Rejected,
    Shown,
    Unavailable,
)
from tests.application.memory import MemoryPanel
from tests.providers.stage import (
    DESIRED,
    MAKING,
    OPERATIONS,
    OTHER_SQUAD,
    PUSHING,
    SQUAD,
    ClosingGuard,
    OpenGuard,
    Stage,
    access_to,
)

NOT_PUSHING = [operation for operation in OPERATIONS if operation not in PUSHING]
LIMITED = msgspec.structs.replace(
    DESIRED, traffic_bytes=5000, device_limit=3, squad_ids=(OTHER_SQUAD, SQUAD)
)


@pytest.fixture(params=["http", "memory"])
def panel(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Panel]:
    if request.param == "memory":
        yield MemoryPanel()
        return
    with Stage(tmp_path) as stage:
        yield stage.adapter


def carried_out(panel: Panel, operation: str, access: Access) -> Confirmed:
    answer = panel.carry_out(operation, access, "op.1", OpenGuard())
    assert isinstance(answer, Confirmed)
    return answer


@pytest.mark.parametrize("is_off", [False, True], ids=["on", "off"])
@pytest.mark.parametrize("operation", OPERATIONS)
def test_what_is_confirmed_stands_as_asked(
    panel: Panel,
    operation: str,
    is_off: bool,  # noqa: FBT001 - a parameter of pytest
) -> None:
    carried_out(panel, "create", access_to(DESIRED))

    answer = carried_out(panel, operation, access_to(LIMITED, is_off=is_off))

    assert (answer.observed.status == "DISABLED") == is_off


@pytest.mark.parametrize("operation", PUSHING)
def test_what_pushes_confirms_everything(panel: Panel, operation: str) -> None:
    carried_out(panel, "create", access_to(DESIRED))

    answer = carried_out(panel, operation, access_to(LIMITED))

    assert answer.squad_ids == (SQUAD, OTHER_SQUAD)
    assert answer.observed.traffic_limit_bytes == 5000
    assert answer.observed.device_limit == 3
    assert answer.observed.squads == 2
    assert answer.observed.expire_at == LIMITED.remote_expire_at


@pytest.mark.parametrize("operation", NOT_PUSHING)
def test_what_only_acts_confirms_what_was_there(panel: Panel, operation: str) -> None:
    carried_out(panel, "create", access_to(LIMITED))

    answer = carried_out(panel, operation, access_to(DESIRED, is_off=True))

    assert answer.squad_ids == (SQUAD, OTHER_SQUAD)
    assert answer.observed.device_limit == 3


@pytest.mark.parametrize("operation", [it for it in OPERATIONS if it not in MAKING])
def test_nobody_is_made_but_by_create_and_reconcile(
    panel: Panel, operation: str
) -> None:
    answer = panel.carry_out(operation, access_to(DESIRED), "op.1", OpenGuard())

    assert isinstance(answer, Unavailable)
    assert answer.code == "remote_user_not_found"


def test_a_look_shows_what_was_confirmed(panel: Panel) -> None:
    before = panel.read(access_to(DESIRED), "op.1", OpenGuard())
    made = carried_out(panel, "create", access_to(LIMITED))
    after = panel.read(access_to(DESIRED), "op.1", OpenGuard())

    assert isinstance(before, Missing)
    assert before.requests == 1
    assert isinstance(after, Shown)
    assert after.requests == 1
    assert after.sight.observed == made.observed
    assert after.sight.squad_ids == made.squad_ids


@pytest.mark.parametrize("before", [0, 3])
def test_what_the_guard_stops_was_not_asked(panel: Panel, before: int) -> None:
    look = panel.read(access_to(DESIRED), "op.1", ClosingGuard(0))
    answer = panel.carry_out(
        "create", access_to(DESIRED), "op.1", ClosingGuard(0), requests_before=before
    )

    assert isinstance(look, Halted)
    assert look.requests == 0
    assert isinstance(answer, Halted)
    assert answer.requests == before


def test_what_is_no_operation_is_refused_for_good(panel: Panel) -> None:
    answer = panel.carry_out("delete", access_to(DESIRED), "op.1", OpenGuard())

    assert isinstance(answer, Rejected)
    assert answer.code == "unsupported_operation"
