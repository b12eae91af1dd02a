"""`read`: one user as the panel shows it, wherever it is; nothing is changed."""

import pytest

from application.ports import Halted, Misconfigured, Missing, Shown
from tests.providers.stage import (
    LEGACY,
    OTHER_SQUAD,
    SQUAD,
    USERNAME,
    ClosingGuard,
    Stage,
)

FIND = f"GET /api/users/by-username/{USERNAME}"
FIND_LEGACY = f"GET /api/users/by-username/{LEGACY}"


def test_a_user_is_shown_with_its_squads_by_name(stage: Stage) -> None:
    user_id = stage.born(
        status="LIMITED",
        trafficLimitBytes=5000,
        activeInternalSquads=[OTHER_SQUAD, SQUAD.upper()],
    )

    answer = stage.read(panel_user_id=user_id)

    assert stage.calls() == [f"GET /api/users/{user_id}"]
    assert isinstance(answer, Shown)
    assert answer.requests == 1
    assert answer.sight.squad_ids == (SQUAD, OTHER_SQUAD)
    observed = answer.sight.observed
    assert observed.panel_user_id == user_id
    assert observed.status == "LIMITED"
    assert observed.traffic_limit_bytes == 5000
    assert observed.squads == 2


def test_a_device_limit_that_was_never_set_is_told_from_no_limit(stage: Stage) -> None:
    """Null is the panel's fallback limit, 0 is none: one is a drift, one is not."""
    limits: list[int | None] = []

    for user_id in (stage.born(), stage.born(LEGACY, hwidDeviceLimit=0)):
        answer = stage.read(panel_user_id=user_id, legacy=LEGACY)
        assert isinstance(answer, Shown)
        limits.append(answer.sight.observed.device_limit)

    assert limits == [None, 0]


@pytest.mark.parametrize(
    ("name", "calls"), [(USERNAME, [FIND]), (LEGACY, [FIND, FIND_LEGACY])]
)
@pytest.mark.parametrize("known", [None, 4711])
def test_a_user_without_a_known_id_is_looked_for_by_its_names(
    stage: Stage, name: str, calls: list[str], known: int | None
) -> None:
    user_id = stage.born(name)

    answer = stage.read(panel_user_id=known, legacy=LEGACY)

    by_id = [f"GET /api/users/{known}"] if known else []
    assert stage.calls() == [*by_id, *calls]
    assert isinstance(answer, Shown)
    assert answer.sight.observed.panel_user_id == user_id
    assert answer.requests == len(by_id) + len(calls)


@pytest.mark.parametrize(
    ("known", "legacy", "requests"),
    [(None, None, 1), (None, LEGACY, 2), (4711, None, 2), (4711, LEGACY, 3)],
)
def test_a_user_that_nobody_has_is_missing(
    stage: Stage, known: int | None, legacy: str | None, requests: int
) -> None:
    answer = stage.read(panel_user_id=known, legacy=legacy)

    assert isinstance(answer, Missing)
    assert answer.requests == requests
    assert len(stage.calls()) == requests


def test_an_id_that_is_somebody_else_now_waits_for_a_person(stage: Stage) -> None:
    user_id = stage.born("somebody_else")

    answer = stage.read(panel_user_id=user_id)

    assert isinstance(answer, Misconfigured)
    assert answer.cause == "panel_configuration"


@pytest.mark.parametrize("requests", [0, 1])
def test_no_look_begins_once_the_guard_has_said_no(stage: Stage, requests: int) -> None:
    answer = stage.read(legacy=LEGACY, guard=ClosingGuard(2 * requests))

    assert isinstance(answer, Halted)
    assert answer.requests == requests
    assert len(stage.book()) == requests
