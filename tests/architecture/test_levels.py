"""Everything that is emitted has a level, and nothing else has one."""

import ast
from collections.abc import Iterator
from pathlib import Path

from infrastructure.telemetry.levels import ERROR, INFO, KNOWN, ROUNDS, level_of

ROOT = Path(__file__).parents[2]
FOLDERS = ("api", "application", "infrastructure", "projections")

# What handlers name, and events that are passed on by those who keep them.
PASSED_ON = {
    "infrastructure/processor/running.py",
    "infrastructure/processor/suspects/cells.py",
    "infrastructure/projecting/runner/episodes.py",
}


def emitted() -> Iterator[tuple[str, ast.expr]]:
    """Yield what each call names that emits, or lets an episode be told."""
    for folder in FOLDERS:
        for path in (ROOT / folder).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.Call):
                    yield from ((str(path.relative_to(ROOT)), it) for it in named(node))


def named(call: ast.Call) -> list[ast.expr]:
    match call.func:
        case ast.Name(id="emit"):
            return branches(call.args[0])
        case ast.Attribute(attr="tell", value=ast.Attribute(attr="_episodes")):
            return branches(call.args[1])
        case _:
            return []


def branches(said: ast.expr) -> list[ast.expr]:
    return [said.body, said.orelse] if isinstance(said, ast.IfExp) else [said]


def texts(said: ast.expr) -> list[str] | None:
    """Return every text that it may be; None: that is not to be seen here."""
    match said:
        case ast.Constant(value=str(text)):
            return [text]
        case ast.JoinedStr(values=[_, ast.Constant(value=str(end))]):
            return [what + end for what in ROUNDS]
        case _:
            return None


def test_everything_that_is_emitted_has_a_level() -> None:
    found = {(where, ast.dump(said)): texts(said) for where, said in emitted()}

    assert {where for (where, _), told in found.items() if told is None} == PASSED_ON
    assert {text for told in found.values() for text in told or ()} == KNOWN


def test_what_handlers_tell_is_information() -> None:
    assert level_of("whatever a handler says") == INFO
    assert level_of("thread died") == ERROR
