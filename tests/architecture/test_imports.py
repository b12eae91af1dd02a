"""Dependency rules that import-linter cannot say."""

import ast

from tests.architecture.tree import PACKAGES, ROOT, imported, modules, name, parsed

READS_THE_WORLD = {
    "getrandbits",
    "monotonic",
    "now",
    "open",
    "print",
    "today",
    "token_bytes",
    "urandom",
    "utcnow",
    "uuid1",
    "uuid4",
    "uuid6",
    "uuid7",
}


def test_the_simulators_share_nothing_with_the_product() -> None:
    """The panel's book is evidence only while no code of ours can colour it."""
    simulators = [
        file
        for file in modules("infrastructure")
        if file.relative_to(ROOT).parts[1] == "simulators"
    ]
    shared = {
        f"{name(file)}:{line}": module
        for file in simulators
        for line, module in imported(file)
        if module.split(".")[0] in PACKAGES
        and not module.startswith("infrastructure.simulators")
    }

    assert simulators
    assert shared == {}


def test_the_domain_reads_no_clock_and_throws_no_dice() -> None:
    impure = {
        f"{name(file)}:{node.lineno}": called
        for file in modules("domain")
        for node in ast.walk(parsed(file))
        if isinstance(node, ast.Call)
        and (called := ast.unparse(node.func)).rsplit(".", 1)[-1] in READS_THE_WORLD
    }

    assert impure == {}


def test_nothing_is_patched_in_tests() -> None:
    """Fakes stand beside the ports, proven by the contract suites."""
    mocked = {
        f"{name(file)}:{line}": module
        for file in modules(*PACKAGES, "bench", "examples", "tests")
        for line, module in imported(file)
        if module.startswith(("unittest.mock", "mock.", "pytest_mock"))
    }

    assert mocked == {}
