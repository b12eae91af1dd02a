"""What every test gets: the fixtures by concern and the hypothesis profiles.

Markers are declared in pyproject.toml; fixtures live in tests/fixtures, one module
for each concern, and are found there by name.
"""

from pathlib import Path

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
