"""The command line as a whole: help that teaches, and errors of one sentence."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn, cast

import pytest
import rich_click as click

from api.cli.app import counterfoil, run
from api.installation import Installation
from domain.errors import CounterfoilError


def commands(group: click.Group, path: str = "") -> Iterator[tuple[str, click.Command]]:
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from commands(command, f"{path}{name} ")
        else:
            yield path + name, command


COMMANDS = dict(commands(counterfoil))


DUE = [
    "api",
    "callbacks list",
    "callbacks record",
    "callbacks replay",
    "callbacks show",
    "cancel",
    "credentials list",
    "credentials make-key",
    "credentials rotate",
    "credentials set",
    "dead-letters",
    "deliveries decide",
    "deliveries list",
    "deliveries reconcile",
    "deliveries show",
    "demo",
    "doctor",
    "events",
    "healthcheck",
    "history",
    "job",
    "jobs",
    "kinds",
    "limits",
    "maintenance close",
    "maintenance open",
    "migrate",
    "operate",
    "outbox",
    "people add",
    "people disable",
    "people enable",
    "people list",
    "people password",
    "people role",
    "projections holders",
    "projections list",
    "projections pause",
    "projections rebuild",
    "projections resume",
    "projections verify",
    "providers disable",
    "providers enable",
    "providers limits",
    "providers list",
    "providers set",
    "queues limit",
    "queues list",
    "queues pause",
    "queues resume",
    "refund",
    "restore-guard engage",
    "restore-guard release",
    "restore-guard status",
    "retry",
    "settle",
    "simulate gateway",
    "simulate panel",
    "tokens create",
    "tokens list",
    "tokens revoke",
    "tokens rotate",
    "up",
    "why",
    "worker",
    "workers drain",
    "workers list",
]


def test_every_command_that_is_due_is_there() -> None:
    assert sorted(COMMANDS) == DUE


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_teaches_by_examples_and_speaks_json(name: str) -> None:
    command = COMMANDS[name]
    options = {
        option: parameter
        for parameter in command.params
        if isinstance(parameter, click.Option)
        for option in parameter.opts
    }

    assert "Examples:" in (command.help or "")
    assert f"counterfoil {name}" in (command.help or "")
    assert "--json" in options
    assert all(parameter.help for parameter in options.values())


class Broken:
    """An installation that always raises the same."""

    def __init__(self, error: BaseException) -> None:
        self._error = error

    @contextmanager
    def open(self) -> Iterator[NoReturn]:
        raise self._error
        yield  # type: ignore[unreachable]  # makes it a generator


def broken(error: BaseException) -> Installation:
    return cast("Installation", Broken(error))


@pytest.mark.parametrize(
    ("error", "code", "told"),
    [
        (CounterfoilError("said by us"), 1, "error: said by us"),
        (KeyboardInterrupt(), 130, "error: interrupted"),
        (PermissionError(13, "Permission denied", "x.csv"), 1, "x.csv: Permission"),
        (ZeroDivisionError("secret"), 1, "a fault of ours: ZeroDivisionError at"),
    ],
)
def test_whatever_goes_wrong_is_one_sentence_and_an_exit_code(
    capsys: pytest.CaptureFixture[str], error: BaseException, code: int, told: str
) -> None:
    assert run(broken(error), ["jobs"]) == code

    out, err = capsys.readouterr()
    assert out == ""
    assert told in err
    assert "secret" not in err
    assert len(err.strip().splitlines()) == 1


def test_without_arguments_the_help_is_shown_as_for_wrong_usage(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(broken(AssertionError()), []) == 2

    assert "Start here" in capsys.readouterr().out


def test_help_needs_no_installation(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(broken(AssertionError()), ["why", "--help"]) == 0
    assert run(broken(AssertionError()), ["--version"]) == 0

    out, _ = capsys.readouterr()
    assert "counterfoil why cdnow:17" in out
