"""I12: keys, tokens and webhook secrets are in no output, wherever one looks."""

import base64
import json
import traceback
from collections.abc import Iterator
from pathlib import Path

import pytest

from api.cli.app import run
from application.goods.port import Unconfigured
from domain.errors import CounterfoilError
from infrastructure.bootstrap import Composition
from infrastructure.postgres.database import Database
from infrastructure.providers.registry.providers import PostgresProviders
from infrastructure.settings import Settings
from tests.api.command import Command
from tests.fixtures.database import TestDatabase
from tests.fixtures.workers import descendants
from tests.seals.canaries import Canaries, arguments_of, dumped

pytestmark = pytest.mark.database

KEYS = {f"k{n}": bytes(range(n * 40, n * 40 + 32)) for n in (1, 2, 3)}
WRITTEN = {name: base64.b64encode(key).decode() for name, key in KEYS.items()}
TOKENS = tuple(f"token-{n}-Zm9vYmFyYmF6cXV4" for n in (1, 2, 3))
WEBHOOK = "whsec_c2VjcmV0LW9mLWNhbGxiYWNrcy13aGljaC1hcmUtc2lnbmVk"
SLIPPED = "slipped-into-a-name-or-a-value-777"
WHY = ("--reason", "the first contract")


@pytest.fixture
def canaries() -> Canaries:
    secrets = {f"key {name}": key for name, key in KEYS.items()}
    secrets |= {f"written {name}": each.encode() for name, each in WRITTEN.items()}
    secrets |= {token[:7]: token.encode() for token in TOKENS}
    return Canaries(secrets | {"webhook": WEBHOOK.encode(), "slip": SLIPPED.encode()})


def ring(*names: str) -> str:
    return ",".join(f"{name}:{WRITTEN[name]}" for name in names)


@pytest.fixture
def counterfoil(database: TestDatabase, tmp_path: Path) -> Iterator[Command]:
    command = Command(
        COUNTERFOIL_DATABASE_URL=database.url,
        COUNTERFOIL_DATA_DIR=str(tmp_path),
        COUNTERFOIL_OPERATOR="ann",
        COUNTERFOIL_DATA_ENCRYPTION_KEYS=ring("k1"),
    )
    try:
        yield command
    finally:
        command.close()


def file_of(folder: Path, content: object) -> Path:
    file = folder / "given.json"
    text = content if isinstance(content, str) else json.dumps(content)
    file.write_text(text, "utf-8")
    return file


def whole(token: str, **more: object) -> dict[str, object]:
    told = {"baseUrl": "https://gateway.example", "token": token, "currency": "EUR"}
    return told | {"webhookSecret": WEBHOOK} | more


def mistakes() -> list[object]:
    """Return what is no credential, with a secret in the wrong place."""
    return [
        whole(TOKENS[2], **{SLIPPED: 1}),
        whole(TOKENS[2], currency=SLIPPED),
        whole(TOKENS[2], baseUrl=f"https://u:{SLIPPED}@gateway.example"),
        whole(TOKENS[2], webhookSecret=f"{SLIPPED} {SLIPPED}"),
        TOKENS[2],
    ]


class Here:
    """Runs commands in this process, and keeps all that they write."""

    def __init__(self, capture: pytest.CaptureFixture[str], **settings: str) -> None:
        self._capture = capture
        self._settings = {f"COUNTERFOIL_{name}": it for name, it in settings.items()}
        self.written: list[str] = []

    def __call__(self, *arguments: object, code: int = 0, keys: str = "k1") -> None:
        names = keys.split()
        given = ring(*names) if WRITTEN.keys() >= set(names) else keys
        environ = self._settings | {"COUNTERFOIL_DATA_ENCRYPTION_KEYS": given}
        ended = run(Composition(environ), [str(each) for each in arguments])
        told = self._capture.readouterr()
        self.written += [told.out, told.err]
        assert ended == code, (arguments, told)


def test_no_secret_is_in_any_output_of_commands_that_keep_it(
    capfd: pytest.CaptureFixture[str],
    canaries: Canaries,
    database: TestDatabase,
    tmp_path: Path,
) -> None:
    here = Here(capfd, DATABASE_URL=database.url, OPERATOR="ann")
    file = tmp_path / "given.json"
    set_it = ("credentials", "set", "stars", "--file", file, *WHY)
    rotate_it = ("credentials", "rotate", "stars", "--file", file, *WHY)

    here("providers", "set", "stars", "--adapter", "fragment", *WHY, "--json")
    file_of(tmp_path, whole(TOKENS[0]))
    here(*set_it, "--json")
    here(*set_it)
    file_of(tmp_path, TOKENS[1])
    here(*rotate_it, "--json")
    here("credentials", "rotate", *WHY, "--json", keys="k2 k1")
    here("credentials", "list", "--json", keys="k2 k1")
    here("credentials", "list")
    here("providers", "list", "--json", keys="k3")
    here("providers", "list", keys="")
    here(*rotate_it, code=1)
    for wrong in mistakes():
        file_of(tmp_path, wrong)
        here(*set_it, code=1)
    file_of(tmp_path, f"{SLIPPED} {SLIPPED}")
    here(*rotate_it, code=1)
    for malformed in (WRITTEN["k3"], f"k3:{WRITTEN['k3'][:-4]}", f"{SLIPPED}:x"):
        here("credentials", "list", code=1, keys=malformed)
    here("events", "--json")

    told = "\n".join(here.written)
    canaries.assert_none_in("what commands write", told.encode())
    assert told.count('"events":["credential.rotated"]') == 1  # the answer
    assert told.count('"type":"credential.rotated"') == 1  # the log
    # Both records of the commit name the action, and the operator's says it anew.
    assert told.count('"action":"credential.rotated"') == 3
    assert told.count("`counterfoil credentials make-key` makes one") == 3
    canaries.assert_none_in("the database", dumped(database.conninfo))


def test_a_worker_with_keys_logs_none_and_shows_none_in_its_arguments(
    counterfoil: Command, canaries: Canaries, tmp_path: Path
) -> None:
    counterfoil("providers", "set", "stars", "--adapter", "fragment", *WHY)
    file = file_of(tmp_path, whole(TOKENS[0]))
    counterfoil("credentials", "set", "stars", "--file", file, *WHY)
    file.unlink()

    malformed = counterfoil("worker", COUNTERFOIL_DATA_ENCRYPTION_KEYS=WRITTEN["k3"])
    worker = counterfoil.start("worker")
    worker.wait_for("working")
    arguments = arguments_of({worker.process.pid, *descendants(worker.process.pid)})
    ended = worker.stop()

    assert ended.code == 0
    assert "`counterfoil credentials make-key` makes one" in malformed.complaint()
    canaries.assert_none_in("the refusal to start", malformed.err.encode())
    canaries.assert_none_in("arguments", arguments)
    canaries.assert_none_in("standard output", ended.out.encode())
    canaries.assert_none_in("the log", ended.err.encode())


def test_no_error_repr_or_traceback_holds_a_secret(
    counterfoil: Command, canaries: Canaries, database: TestDatabase, tmp_path: Path
) -> None:
    counterfoil("providers", "set", "stars", "--adapter", "fragment", *WHY)
    file = file_of(tmp_path, whole(TOKENS[0]))
    counterfoil("credentials", "set", "stars", "--file", file, *WHY)
    shown: list[str] = []

    def keeps(adapter: str, credential: object) -> None:
        shown.extend((adapter, repr(credential), str(credential), f"{credential}"))

    for keys in (ring("k1"), ring("k2"), ring("k2", "k1")):
        settings = Settings.from_env({"COUNTERFOIL_DATA_ENCRYPTION_KEYS": keys})
        shown += [repr(settings), str(settings), repr(settings.data_encryption_keys)]
        with Database(database.conninfo, pool_size=1) as pool:
            providers = PostgresProviders(pool, settings.data_encryption_keys, keeps)
            found = providers.find("default", "stars")
        assert isinstance(found, Unconfigured)
        shown += [repr(providers), repr(found)]
    for keys in (f"k1:{WRITTEN['k1']}x", WRITTEN["k2"], f"{SLIPPED}:{SLIPPED}"):
        try:
            Settings.from_env({"COUNTERFOIL_DATA_ENCRYPTION_KEYS": keys})
        except CounterfoilError as error:
            shown += traceback.format_exception(error)

    canaries.assert_none_in("what is shown", "\n".join(shown).encode())
    assert "Credential(host='gateway.example')" in shown


def test_a_planted_secret_is_found_in_every_form(canaries: Canaries) -> None:
    """Else the tests above would prove nothing."""
    secret = TOKENS[0].encode()
    for content in (
        b"token=" + secret + b"&x",
        secret.hex().encode(),
        base64.b64encode(b'{"token": "' + secret + b'"}'),
        base64.urlsafe_b64encode(b"a" + secret + b"tail"),
        base64.b64encode(b"omniflow:" + secret),
        secret[:-10],
    ):
        with pytest.raises(AssertionError, match="is in here"):
            canaries.assert_none_in("here", b"before " + content + b" behind")
