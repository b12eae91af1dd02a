"""`counterfoil providers` and `credentials`: what a person gives, and is told."""

import io
import json
import os
import pty
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from api.cli.app import run
from application.providers.credential import Credential
from application.providers.opening import credential_in
from infrastructure.bootstrap import Composition
from infrastructure.postgres.database import connect
from infrastructure.providers.registry.rows import read_provider
from infrastructure.seals.key_ring import key_ring_of, new_key
from tests.fixtures.database import TestDatabase
from tests.fixtures.processes import ROOT

pytestmark = pytest.mark.database

KEY = new_key("k1")
WHY = ("--reason", "the first contract")
TOKEN = "token-1"  # noqa: S105 - a test's
GIVEN = {"baseUrl": "https://gateway.example", "token": TOKEN}

type Told = tuple[int, str, str]
type Run = Callable[..., Told]


@pytest.fixture
def counterfoil(
    database: TestDatabase,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> Run:
    """Runs commands in this process; `given` is what comes through a pipe."""

    def command(*arguments: str, given: str = "", keys: str = KEY) -> Told:
        environ = {
            "COUNTERFOIL_DATABASE_URL": database.url,
            "COUNTERFOIL_DATA_ENCRYPTION_KEYS": keys,
        }
        piped = io.TextIOWrapper(io.BytesIO(given.encode()))
        monkeypatch.setattr(sys, "stdin", piped)
        code = run(Composition(environ), arguments)
        told = capfd.readouterr()
        return code, told.out, told.err

    return command


def credential(database: TestDatabase, keys: str = KEY) -> Credential | str:
    with connect(database.conninfo) as connection:
        found = read_provider(connection, "default", "stars")
    assert found is not None
    return credential_in(found, key_ring_of(keys))


def made(counterfoil: Run) -> None:
    assert (
        counterfoil("providers", "set", "stars", "--adapter", "fragment", *WHY)[0] == 0
    )


def test_a_credential_comes_through_a_pipe_and_a_token_too(
    counterfoil: Run, database: TestDatabase
) -> None:
    made(counterfoil)

    told = counterfoil("credentials", "set", "stars", *WHY, given=json.dumps(GIVEN))
    assert told == (0, "provider stars has a new credential, sealed by key k1\n", "")
    assert credential(database) == Credential(
        base_url="https://gateway.example", token=TOKEN
    )

    told = counterfoil("credentials", "rotate", "stars", *WHY, given="token-2\n")
    assert told == (0, "provider stars has a new token, sealed by key k1\n", "")
    rotated = credential(database)
    assert isinstance(rotated, Credential)
    assert rotated.token == "token-2"  # noqa: S105 - a test's


@pytest.mark.parametrize("as_json", [True, False])
def test_what_is_so_already_is_told(counterfoil: Run, *, as_json: bool) -> None:
    made(counterfoil)
    form = ["--json"] if as_json else []
    line = ("credentials", "set", "stars", *WHY, *form)
    counterfoil(*line, given=json.dumps(GIVEN))

    code, out, _ = counterfoil(*line, given=json.dumps(GIVEN))

    assert code == 0
    if as_json:
        told: dict[str, Any] = json.loads(out)
        assert told.pop("position") > 0
        assert told == {
            "tenantId": "default",
            "provider": "stars",
            "adapter": "fragment",
            "isEnabled": True,
            "key": "k1",
            "events": [],
        }
    else:
        assert out == "nothing to do: provider stars is so already\n"


def test_lists_say_what_is_the_matter_and_show_no_secret(counterfoil: Run) -> None:
    made(counterfoil)
    told = GIVEN | {"currency": "EUR", "webhookSecret": f"whsec_{'c2VjcmV0' * 4}"}
    counterfoil("credentials", "set", "stars", *WHY, given=json.dumps(told))
    counterfoil("providers", "set", "cards", "--adapter", "idempotent", *WHY)
    counterfoil("providers", "disable", "cards", *WHY)

    _, out, _ = counterfoil("providers", "list")
    rows = [line.split() for line in out.splitlines()]
    assert rows[1][:6] == ["default", "cards", "idempotent", "disabled", "it", "is"]
    assert rows[2] == [
        "default",
        "stars",
        "fragment",
        "enabled",
        "gateway.example",
        "EUR",
    ]

    _, out, _ = counterfoil("credentials", "list")
    _, credentials, key = out.splitlines()
    assert credentials.split()[:3] == ["default", "stars", "k1"]
    assert credentials.split()[-1] == "signed"
    assert key == "key k1 is active, and seals 1 credential"

    _, out, _ = counterfoil("credentials", "list", "--json", keys=new_key("k2"))
    page = json.loads(out)
    neither = {"bodies": 0, "canBeDropped": False}
    assert page["keys"] == [
        {"key": "k2", "isActive": True, "isHere": True, "seals": 0} | neither,
        {"key": "k1", "isActive": False, "isHere": False, "seals": 1} | neither,
    ]
    (line,) = page["credentials"]
    assert line["problem"] == "it is sealed by key k1, which is missing"


def test_a_rotation_of_keys_tells_each_credential_and_fails_if_one_does_not_open(
    counterfoil: Run,
) -> None:
    made(counterfoil)
    counterfoil("credentials", "set", "stars", *WHY, given=json.dumps(GIVEN))
    new = new_key("k2")
    rotate = ("credentials", "rotate", *WHY)

    code, out, err = counterfoil(*rotate, keys=new)
    assert (code, out) == (1, "")
    assert "is sealed by key k1, which is missing; give it whole" in err

    code, out, err = counterfoil(*rotate, keys=f"{new},{KEY}")
    assert (code, err) == (0, "")
    assert out == "provider stars has its credential sealed anew, sealed by key k2\n"

    _, out, _ = counterfoil(*rotate, "--json", keys=f"{new},{KEY}")
    assert json.loads(out) == {
        "key": "k2",
        "resealed": [],
        "unreadable": [],
        "bodies": {"nTaken": 0, "nUnreadable": 0},
    }


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        (("credentials", "set", "cards"), "there is no provider cards"),
        (("credentials", "set", "stars"), "a JSON object like"),
        (("credentials", "rotate", "stars"), "invalid_member: token: 1 to 4,096"),
        (("providers", "set", "stars", "--adapter", "pigeon"), "adapter: one of"),
        (("providers", "set", "Stars", "--adapter", "fragment"), "a letter first"),
        (("providers", "enable", "cards"), "there is no provider cards"),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(
    line: tuple[str, ...], complaint: str, counterfoil: Run
) -> None:
    made(counterfoil)
    given = json.dumps(GIVEN) if line[-1] == "cards" else ""

    code, out, err = counterfoil(*line, *WHY, given=given)

    assert (code, out) == (1, "")
    assert complaint in err
    assert len(err.splitlines()) == 1


def test_without_keys_a_secret_is_refused_with_the_way_to_make_one(
    counterfoil: Run,
) -> None:
    made(counterfoil)

    for verb in ("set", "rotate"):
        given = json.dumps(GIVEN) if verb == "set" else TOKEN
        told = counterfoil("credentials", verb, "stars", *WHY, given=given, keys="")
        assert told[0] == 1
        assert "`counterfoil credentials make-key` makes a key" in told[2]
    assert counterfoil("credentials", "list", keys="") == (
        0,
        "tenant  provider  key  given  callbacks  problem\n",
        "",
    )


def test_a_key_is_made_and_can_be_used(counterfoil: Run) -> None:
    _, out, _ = counterfoil("credentials", "make-key", "2027", keys="")
    assert key_ring_of(out.strip()).active == "2027"

    _, out, _ = counterfoil("credentials", "make-key", "--json", keys="")
    made_key = json.loads(out)["key"]
    assert key_ring_of(made_key).active.startswith("k")

    code, _, err = counterfoil("credentials", "make-key", "not an id", keys="")
    assert (code, "1 to 32 of a-z, 0-9" in err) == (1, True)


_AT_A_TERMINAL = """
import fcntl, runpy, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
sys.argv = ["counterfoil", *sys.argv[1:]]
runpy.run_module("api", run_name="__main__")
"""


@dataclass
class Person:
    """Sits at a terminal, answers what is asked for, and sees all that is shown."""

    side: int
    seen: str = ""

    def answers(self, question: str, answer: str) -> None:
        seen = ""
        while question not in seen or not seen.endswith(": "):
            seen += os.read(self.side, 1000).decode()
        self.seen += seen
        os.write(self.side, f"{answer}\n".encode())


@pytest.fixture
def sits(database: TestDatabase, tmp_path: Path) -> Callable[..., Any]:
    """Begins a command at a terminal of its own."""

    @contextmanager
    def begin(*line: str) -> Iterator[Person]:
        ours, theirs = pty.openpty()
        settings = {
            "PYTHONPATH": str(ROOT),
            "COUNTERFOIL_DATA_DIR": str(tmp_path),
            "COUNTERFOIL_DATABASE_URL": database.url,
            "COUNTERFOIL_DATA_ENCRYPTION_KEYS": KEY,
        }
        process = subprocess.Popen(
            [sys.executable, "-c", _AT_A_TERMINAL, *line],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env=os.environ | settings,
            start_new_session=True,
        )
        os.close(theirs)
        person = Person(ours)
        try:
            yield person
            assert process.wait(60) == 0
            person.seen += os.read(ours, 1000).decode()
        finally:
            process.kill()
            process.wait()
            os.close(ours)

    return begin


def test_on_a_terminal_each_member_is_asked_for_and_secrets_are_not_echoed(
    counterfoil: Run, sits: Callable[..., Any], database: TestDatabase
) -> None:
    made(counterfoil)

    with sits("credentials", "set", "stars", *WHY) as person:
        person.answers("address", "https://gateway.example")
        person.answers("token", TOKEN)
        person.answers("currency", "EUR")
        person.answers("secret of its callbacks", "")

    assert TOKEN not in person.seen
    assert "provider stars has a new credential" in person.seen
    assert credential(database) == Credential(
        base_url="https://gateway.example", token=TOKEN, currency="EUR"
    )
