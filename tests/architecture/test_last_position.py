"""One read of the last position: `counterfoil.last_position()` (ADR 0029)."""

import re

import pytest

from tests.architecture.test_sql_clock import COMMENT, statements
from tests.architecture.tree import PACKAGES, ROOT, files, modules, name

EARLIER = ("0001_log.sql", "0016_limits.sql")
"""They stay as they are; a later one has replaced what they made."""
# Not nextval('…') and its like, which name the sequence in quotes.
SCAN = re.compile(
    r"""(?: \b(?:FROM|JOIN|TABLE|ONLY)\s+ | ,\s* ) (?:counterfoil\.)?position_seq\b
      | \bpg_sequence_last_value\b | \bpg_sequences\b""",
    re.IGNORECASE | re.VERBOSE,
)
DEFINITION = re.compile(
    r"CREATE FUNCTION counterfoil\.last_position\(\).*?\$\$.*?\$\$", re.DOTALL
)


def scans(sql: str) -> list[str]:
    """Return every read of the sequence beside the one that is allowed."""
    return [found.group() for found in SCAN.finditer(COMMENT.sub("", sql))]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT last_value FROM counterfoil.position_seq",
        "SELECT * FROM\n  position_seq s",
        "SELECT 1 FROM counterfoil.events e JOIN counterfoil.position_seq l ON true",
        "SELECT 1 FROM counterfoil.events, counterfoil.position_seq",
        "TABLE counterfoil.position_seq",
        "SELECT pg_sequence_last_value('counterfoil.position_seq')",
        "SELECT last_value FROM pg_sequences",
    ],
)
def test_another_read_is_recognised(sql: str) -> None:
    assert scans(sql)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT counterfoil.last_position()",
        "SELECT nextval('counterfoil.position_seq')",
        "SELECT setval('counterfoil.position_seq', 1)",
        "GRANT USAGE ON SEQUENCE counterfoil.position_seq TO shop",
        "SELECT 1 -- FROM counterfoil.position_seq",
    ],
)
def test_the_one_read_is_allowed(sql: str) -> None:
    assert scans(sql) == []


def test_migrations_ask_for_the_last_position() -> None:
    migrations = [
        file
        for file in files()
        if file.parent == ROOT / "migrations"
        and file.suffix == ".sql"
        and file.name not in EARLIER
    ]
    found = {
        name(file): scans(DEFINITION.sub("", file.read_text(encoding="utf-8")))
        for file in migrations
    }

    assert found
    assert {file: reads for file, reads in found.items() if reads} == {}


def test_statements_in_code_ask_for_the_last_position() -> None:
    found = {
        f"{name(file)}:{line}": scans(sql)
        for file in modules(*PACKAGES, "bench", "tests")
        if file.parent != ROOT / "tests" / "architecture"
        for line, sql in statements(file)
    }

    assert {place: reads for place, reads in found.items() if reads} == {}
