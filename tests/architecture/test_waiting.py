"""Tests wait for what they expect, with a deadline; they never just wait."""

import ast

from tests.architecture.tree import modules, name, parsed


def pauses(tree: ast.AST) -> set[ast.Call]:
    return {
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and ast.unparse(node.func) in {"sleep", "time.sleep"}
    }


def polls(tree: ast.AST) -> set[ast.Call]:
    """Return the pauses between two looks at a condition."""
    return {
        pause
        for loop in ast.walk(tree)
        if isinstance(loop, ast.While)
        for pause in pauses(loop)
    }


def test_no_test_sleeps_instead_of_waiting() -> None:
    bare = [
        f"{name(file)}:{pause.lineno}"
        for file in modules("tests")
        for pause in pauses(parsed(file)) - polls(parsed(file))
    ]

    assert bare == []
