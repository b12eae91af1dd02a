"""`counterfoil tokens` and `people`: what a person gives, and is told."""

import io
import json
import os
import pty
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from api.cli.app import run
from infrastructure.bootstrap import Composition
from infrastructure.postgres.database import connect
from tests.fixtures.database import TestDatabase
from tests.fixtures.http import PASSWORD
from tests.fixtures.processes import ROOT

pytestmark = pytest.mark.database

WHY = ("--reason", "the test wants it")

type Told = tuple[int, str, str]
type Run = Callable[..., Told]


@pytest.fixture
def counterfoil(
    database: TestDatabase,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> Run:
    """Runs commands in this process; `given` is what comes through a pipe."""

    def command(*arguments: str, given: bytes = b"") -> Told:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given)))
        code = run(Composition({"COUNTERFOIL_DATABASE_URL": database.url}), arguments)
        told = capfd.readouterr()
        return code, told.out, told.err

    return command


def document(told: Told) -> Any:  # noqa: ANN401 - JSON
    code, out, err = told
    assert code == 0, err
    return json.loads(out)


def create(counterfoil: Run, *more: str) -> Told:
    scope = ("--surface", "shop", "--scope", "orders:write")
    return counterfoil("tokens", "create", "webshop", *scope, *WHY, *more)


def test_a_tokens_text_is_alone_on_standard_output(counterfoil: Run) -> None:
    code, out, err = create(counterfoil)

    assert code == 0
    assert out.startswith("ffl_live_")
    assert out.count("\n") == 1
    assert "it is shown this once" in err
    assert out.strip().rsplit("_", 1)[1] not in err


def test_a_token_is_listed_rotated_and_revoked_by_name_or_id(counterfoil: Run) -> None:
    made = document(create(counterfoil, "--json"))
    id_ = made["token"]["id"]

    rotated = document(counterfoil("tokens", "rotate", "webshop", "--json", *WHY))
    revoked = document(counterfoil("tokens", "revoke", f"tok_{id_}", "--json", *WHY))
    listed = document(counterfoil("tokens", "list", "--json"))

    assert rotated["text"] != made["text"]
    assert rotated["token"]["previousUntil"] is not None
    assert revoked["token"]["state"] == "revoked"
    assert [each["id"] for each in listed["tokens"]] == [id_]
    secrets = [each["text"].rsplit("_", 1)[1] for each in (made, rotated)]
    assert not any(secret in json.dumps(listed) for secret in secrets)


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (("tokens", "revoke", "nobody", *WHY), 1, "there is no token nobody"),
        (("tokens", "rotate", "nobody", *WHY), 1, "there is no token nobody"),
        (("tokens", "rotate", "x", "--days", "366", *WHY), 2, "--days"),
        (("tokens", "rotate", "x"), 2, "--reason"),
        (("people", "disable", "nobody", *WHY), 1, "there is no person nobody"),
        (("people", "role", "nobody", "king", *WHY), 2, "king"),
    ],
)
def test_what_cannot_be_done_is_told_in_one_sentence(
    counterfoil: Run, arguments: tuple[str, ...], code: int, told: str
) -> None:
    ended, out, err = counterfoil(*arguments)

    assert ended == code
    assert out == ""
    assert err.startswith("error: ")
    assert told in err
    assert err.count("\n") == 1


def test_the_same_name_once_more_says_what_can_be_done(counterfoil: Run) -> None:
    create(counterfoil)

    code, _, err = create(counterfoil)

    assert code == 1
    assert "give another name, or rotate that one" in err


def test_tokens_of_other_tenants_are_told_apart(counterfoil: Run) -> None:
    create(counterfoil)
    create(counterfoil, "--tenant", "other")

    code, _, _ = counterfoil("tokens", "revoke", "webshop", "--tenant", "other", *WHY)

    assert code == 0
    listed = document(counterfoil("tokens", "list", "--json"))["tokens"]
    states = {each["tenantId"]: each["state"] for each in listed}
    assert states == {"default": "live", "other": "revoked"}


def test_people_come_change_and_go(counterfoil: Run) -> None:
    add = ("people", "add", "grace", "--role", "owner", "--json", *WHY)
    added = document(counterfoil(*add, given=PASSWORD.encode() + b"\r\n"))
    changed = [
        document(counterfoil("people", verb, *who, "--json", *WHY, given=b"x" * 5))
        for verb, *who in (
            ("role", "grace", "viewer"),
            ("disable", f"usr_{added['person']['id']}"),
            ("enable", "grace"),
        )
    ]
    password = counterfoil(
        "people", "password", "grace", *WHY, given=b"a new secret!\n"
    )

    assert [(each["person"]["role"], each["person"]["state"]) for each in changed] == [
        ("viewer", "enabled"),
        ("viewer", "disabled"),
        ("viewer", "enabled"),
    ]
    assert password[0] == 0
    code, out, _ = counterfoil("people", "list")
    assert code == 0
    assert "grace" in out
    assert PASSWORD not in str(added)


@pytest.mark.parametrize(
    ("given", "rule"),
    [(b"", "12 to 256"), (b"short\n", "12 to 256"), (b"\xff" * 20, "UTF-8")],
)
def test_what_is_no_password_is_not_repeated(
    counterfoil: Run, given: bytes, rule: str
) -> None:
    add = ("people", "add", "grace", "--role", "owner", *WHY)

    code, out, err = counterfoil(*add, given=given)

    assert code == 1
    assert rule in err
    assert "short" not in out + err


AT_A_TERMINAL = """
import fcntl, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
from api.__main__ import main
main()
"""


def test_on_a_terminal_the_password_is_asked_for_twice_without_echo(
    database: TestDatabase,
) -> None:
    ours, theirs = pty.openpty()
    settings = {"PYTHONPATH": str(ROOT), "COUNTERFOIL_DATABASE_URL": database.url}
    add = ("people", "add", "grace", "--role", "owner", *WHY)
    process = subprocess.Popen(
        [sys.executable, "-c", AT_A_TERMINAL, *add],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=os.environ | settings,
        start_new_session=True,
    )
    os.close(theirs)
    try:
        seen = ""
        for question in ("password: ", "Repeat for confirmation: "):
            while not seen.endswith(question):
                seen += os.read(ours, 1000).decode()
            os.write(ours, f"{PASSWORD}\n".encode())
        while "enabled" not in seen:
            seen += os.read(ours, 1000).decode()
        assert process.wait(60) == 0
    finally:
        process.kill()
        process.wait()
        os.close(ours)

    assert PASSWORD not in seen
    with connect(database.url) as connection:
        people = connection.execute("SELECT name FROM counterfoil.people").fetchall()
    assert people == [("grace",)]
