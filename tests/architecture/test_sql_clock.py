"""One clock: SQL reads the time from `counterfoil.now()`, which tests can move."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.architecture.tree import PACKAGES, ROOT, files, modules, name, parsed

OTHER_CLOCK = re.compile(
    r"""(?<![\w.])(?:pg_catalog\.)?
        (?: (?:now|clock_timestamp|statement_timestamp|transaction_timestamp
              |timeofday)\s*\(
          | (?:current_timestamp|current_date|current_time|localtimestamp|localtime)\b
        )""",
    re.IGNORECASE | re.VERBOSE,
)
SQL = re.compile(r"\b(SELECT|INSERT INTO|UPDATE|DELETE FROM|CREATE|ALTER|WITH|DO)\b")
COMMENT = re.compile(r"--[^\n]*|/\*.*?\*/", re.DOTALL)
DEFINITION = re.compile(
    r"CREATE (?:OR REPLACE )?FUNCTION counterfoil\.now\(\).*?\$(\w*)\$.*?\$\1\$",
    re.DOTALL | re.IGNORECASE,
)


def clocks(sql: str) -> list[str]:
    """Return every clock that `sql` reads beside the one that is allowed."""
    code = COMMENT.sub("", DEFINITION.sub("", sql))
    return [found.group() for found in OTHER_CLOCK.finditer(code)]


def docstrings(tree: ast.Module) -> set[ast.Constant]:
    return {
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }


def statements(file: Path) -> Iterator[tuple[int, str]]:
    """Yield line and text of each string that looks like SQL."""
    tree = parsed(file)
    prose = docstrings(tree)
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and node not in prose
            and SQL.search(node.value)
        ):
            yield node.lineno, node.value


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT now()",
        "SELECT pg_catalog.now ()",
        "SELECT Clock_Timestamp()",
        "recorded_at timestamptz DEFAULT CURRENT_TIMESTAMP",
    ],
)
def test_another_clock_is_recognised(sql: str) -> None:
    assert clocks(sql)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT counterfoil.now()",
        "SELECT 1 -- not now()",
        "SELECT known()",
        "CREATE FUNCTION counterfoil.now() RETURNS timestamptz AS $$ SELECT now() $$;",
    ],
)
def test_the_one_clock_is_allowed(sql: str) -> None:
    assert clocks(sql) == []


def test_migrations_read_the_one_clock() -> None:
    migrations = [f for f in files() if f.parent == ROOT / "migrations"]
    found = {
        name(file): clocks(file.read_text(encoding="utf-8"))
        for file in migrations
        if file.suffix == ".sql"
    }

    assert {file: clock for file, clock in found.items() if clock} == {}


def test_statements_in_code_read_the_one_clock() -> None:
    found = {
        f"{name(file)}:{line}": clocks(sql)
        for file in modules(*PACKAGES)
        for line, sql in statements(file)
    }

    assert {place: clock for place, clock in found.items() if clock} == {}
