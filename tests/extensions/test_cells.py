"""A process in which a suspect runs alone knows what its worker knows."""

from pathlib import Path

import pytest

from infrastructure.errors import ExtensionError
from infrastructure.kinds_alone import kinds_alone
from tests.extensions.source import MAIL
from tests.extensions.test_panel import PANEL
from tests.fixtures.database import TestDatabase
from tests.fixtures.packages import Packages

pytestmark = pytest.mark.database


def test_a_cell_makes_the_kinds_and_the_panel_of_other_packages(
    packages_here: Packages, database: TestDatabase
) -> None:
    packages_here.add("acme-mail", MAIL, mail="MAIL")
    packages_here.add_groups("acme-panel", PANEL, {"providers": {"panel": "Adapter"}})

    with kinds_alone(database.url) as kinds:
        assert kinds.keys() >= {"mail", "order_fanout", "fulfillment"}


def test_a_cell_refuses_a_package_that_has_broken_meanwhile(
    packages_here: Packages, database: TestDatabase
) -> None:
    packages_here.add("acme-mail", "import missing_module", mail="MAIL")

    with pytest.raises(ExtensionError), kinds_alone(database.url):
        pass


def test_a_cell_has_its_workers_database_where_the_address_comes_from_a_file(
    database: TestDatabase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a container it does: a suspect that has no cell would never run again."""
    secret = tmp_path / "database_url"
    secret.write_text(database.url)
    monkeypatch.setenv("COUNTERFOIL_DATABASE_URL_FILE", str(secret))

    with kinds_alone(database.url) as kinds:
        assert "order_fanout" in kinds
