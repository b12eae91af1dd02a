"""One installation that has lived through everything that becomes of records."""

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from infrastructure.ids import new_id
from infrastructure.simulators.panel.simulator import PanelSimulator
from tests.application.installed import TOKEN, panel
from tests.application.place import Place, place, placed
from tests.fixtures.database import Servers, TestDatabase
from tests.projections.records.life import Life

__all__ = ["panel", "place"]


@pytest.fixture(scope="session")
def lived(servers: Servers, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Life]:
    """Whatever may become of an order has become of one; tests only look."""
    server = servers.get("embedded")
    name = f"lived_{new_id().hex}"
    with ExitStack() as stack:
        database = TestDatabase(server.create(name, "template_migrated"))
        stack.callback(server.drop, name)
        stack.callback(database.close)
        book = tmp_path_factory.mktemp("panel") / "panel.db"
        panel = stack.enter_context(PanelSimulator(book=book, token=TOKEN))
        life = Life(stack.enter_context(placed(database, panel)))
        life.all_of_it()
        life.project()
        yield life


@pytest.fixture
def lived_alone(place: Place) -> Life:
    """An installation of the test's own, in which nothing has happened."""
    return Life(place)
