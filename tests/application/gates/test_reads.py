"""Whether a gate is closed, as a handler reads it; what is held by either scope."""

from datetime import timedelta

import pytest

from domain.maintenance.gates import ALL, PANEL
from tests.application.place import Place
from tests.fixtures.maintenance import Maintenance

pytestmark = [pytest.mark.database, pytest.mark.usefixtures("heads_equal_folds")]

STATES = "SELECT state, code, attempts FROM counterfoil.operations"


@pytest.mark.parametrize(
    ("windows", "at_panel", "at_shop"),
    [
        ((), None, None),
        ((PANEL,), "maintenance_active", None),
        ((ALL,), "maintenance_active", "maintenance_active"),
        ((PANEL, ALL), "maintenance_active", "maintenance_active"),
    ],
)
def test_a_gate_is_closed_by_its_own_name_or_by_that_of_all(
    place: Place,
    windows: tuple[str, ...],
    at_panel: str | None,
    at_shop: str | None,
) -> None:
    maintenance = Maintenance(place.database)
    for scope in windows:
        maintenance.begin(scope)

    assert place.streams.closed_gate(PANEL) == at_panel
    assert place.streams.closed_gate("shop") == at_shop

    for scope in windows:
        maintenance.end(scope)
    assert place.streams.closed_gate(PANEL) is None


@pytest.mark.parametrize("scope", [PANEL, ALL])
def test_an_order_waits_for_the_end_of_either_window(place: Place, scope: str) -> None:
    maintenance = Maintenance(place.database)
    maintenance.begin(scope)
    place.settle("o1", line={"days": 30})

    assert place.work() == 2  # the fan-out, and one look at the gate

    assert place.rows(STATES) == [("retrying", "maintenance_active", 0)]
    assert place.panel.book() == []
    maintenance.end(scope)
    assert place.parts.unparker.round() == 1
    place.database.advance(timedelta(seconds=1))
    assert place.work() == 1
    assert place.rows(STATES) == [("succeeded", None, 1)]
