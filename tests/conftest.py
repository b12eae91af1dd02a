"""What every test gets: the fixtures by concern, the hypothesis profiles, the order.

Markers are declared in pyproject.toml; fixtures live in tests/fixtures, one module
for each concern, and are found there by name.
"""

from pathlib import Path

import pytest
from hypothesis import settings

pytest_plugins = [
    f"tests.fixtures.{module.stem}"
    for module in sorted((Path(__file__).parent / "fixtures").glob("[!_]*.py"))
]

# No deadline: an example may wait for PostgreSQL, and a shared machine stalls.
settings.register_profile("default", deadline=None)
# The same examples on every run: a red build is a change's fault, not chance's.
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
settings.register_profile("campaign", deadline=None, max_examples=5000)
settings.load_profile("default")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what takes long, so that not everybody waits for it in the end."""
    items.sort(key=lambda item: item.get_closest_marker("long") is None)
