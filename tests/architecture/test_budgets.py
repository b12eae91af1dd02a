"""Sizes: what no longer fits is split by a noun of the glossary, not squeezed.

SQL is exempt: a migration is immutable once merged, so it cannot be split later.
"""

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tests.architecture.tree import PACKAGES, modules, name, parsed

PRODUCT_LINES = 300
TEST_LINES = 500
FUNCTION_LINES = 40
FOLDER_MODULES = 16

PRODUCT = modules(*PACKAGES, "bench", "deploy", "examples")
TESTS = modules("tests")


def lines(file: Path) -> int:
    return len(file.read_text(encoding="utf-8").splitlines())


def functions(file: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(parsed(file)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def code_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Return its length; a docstring explains, so it does not count."""
    first, *_ = function.body
    explained = 0
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
        explained = (first.end_lineno or first.lineno) - first.lineno + 1
    return (function.end_lineno or function.lineno) - function.lineno + 1 - explained


def test_no_product_file_is_longer_than_300_lines() -> None:
    over = {name(file): lines(file) for file in PRODUCT if lines(file) > PRODUCT_LINES}

    assert over == {}


def test_no_test_file_is_longer_than_500_lines() -> None:
    over = {name(file): lines(file) for file in TESTS if lines(file) > TEST_LINES}

    assert over == {}


def test_no_function_is_longer_than_40_lines() -> None:
    over = {
        f"{name(file)}:{function.lineno} {function.name}": code_lines(function)
        for file in (*PRODUCT, *TESTS)
        for function in functions(file)
        if code_lines(function) > FUNCTION_LINES
    }

    assert over == {}


def test_no_folder_holds_more_than_16_modules() -> None:
    sizes = Counter(
        name(file.parent)
        for file in (*PRODUCT, *TESTS)
        if file.name != "__init__.py"  # says what the folder is; holds no code
    )

    assert {folder: n for folder, n in sizes.items() if n > FOLDER_MODULES} == {}
