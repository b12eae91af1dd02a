"""`restore-guard`: what it says to a person and to a machine, and its exit codes."""

from collections.abc import Callable
from pathlib import Path

import pytest

from api.cli.app import run
from infrastructure.bootstrap import Composition
from infrastructure.ids import new_id
from tests.fixtures.database import TestDatabase
from tests.guards.buyer import Buyer
from tests.guards.told import Told

pytestmark = [pytest.mark.database, pytest.mark.usefixtures("heads_equal_folds")]

WHY = ("--reason", "restoring last night's backup")


type Ask = Callable[..., Told]


@pytest.fixture
def ask(
    database: TestDatabase,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> Ask:
    def asked(*arguments: str) -> Told:
        monkeypatch.setenv("COUNTERFOIL_OPERATOR", "olga")
        place = Composition(
            {
                "COUNTERFOIL_DATABASE_URL": database.url,
                "COUNTERFOIL_DATA_DIR": str(tmp_path / "host"),
            }
        )
        code = run(place, ["restore-guard", *arguments])
        said = capsys.readouterr()
        return Told(code, said.out, said.err)

    return asked


def test_an_open_guard_says_where_it_is(ask: Ask) -> None:
    told = ask("status")

    first, log, place = told.out.splitlines()
    assert first == "open: goods are bought"
    assert log == "the log ends at position 0"
    assert place.startswith("cluster ")
    assert place.endswith(", as it was approved")


def test_the_list_of_work_is_told_until_nothing_is_left(ask: Ask, buyer: Buyer) -> None:
    bought, waiting = buyer.owe(2)
    buyer.buy(bought)
    buyer.journal.write(f"goods:{new_id()}:1:1", 1)

    engaged = ask("engage", *WHY)
    shown = ask("status").out
    refused = ask("release", *WHY)
    released = ask("release", "--override", *WHY)

    assert "signs" not in engaged.err
    assert "marked 2 as perhaps bought before" in engaged.out
    assert "by olga" in shown
    assert "    why: restoring last night's backup" in shown
    assert (
        "    sign: journal (this host has bought what the log does not know)" in shown
    )
    assert "    sign: operator (a person has said so)" in shown
    assert "2 deliveries are neither reconciled nor in review:" in shown
    assert f"{waiting.id}  submitted, to be reconciled: order " in shown
    assert "at stars, never submitted here" in shown
    assert f"at stars, {buyer.book[0]}" in shown
    assert "purchases that the log lacks:" in shown
    assert "no such order here" in shown
    assert refused.code == 1
    assert "2 deliveries are neither reconciled nor in review" in refused.err
    assert released.out.startswith("open: goods are bought again")


def test_a_machine_gets_the_same_as_documents(ask: Ask, buyer: Buyer) -> None:
    (delivery,) = buyer.owe()

    engaged = ask("engage", *WHY, "--json").document
    again = ask("engage", *WHY, "--json").document
    status = ask("status", "--json").document
    released = ask("release", "--override", *WHY, "--json").document

    assert (engaged["events"], engaged["marked"]) == (["restore.detected"], 1)
    assert (again["events"], again["marked"]) == ([], 0)
    assert (status["state"], status["signs"]) == ("quarantined", ["operator"])
    (work,) = status["work"]
    assert (work["deliveryId"], work["isMarked"]) == (str(delivery.id), True)
    assert status["stored"] == status["found"]
    assert released["events"] == ["restore.released"]
    assert released["position"] > engaged["position"]
    assert released["guard"]["state"] == "open"


def test_a_planned_switchover_is_told_as_one(ask: Ask, buyer: Buyer) -> None:
    buyer.owe()

    engaged = ask("engage", "--planned", *WHY)
    shown = ask("status").out
    released = ask("release", "--reason", "db2 is at the same position")
    again = ask("release", "--reason", "db2 is at the same position")

    assert "marked" not in engaged.out
    assert "quarantined: nothing is bought, planned: nothing is marked" in shown
    assert "nothing is left to reconcile: `counterfoil restore-guard release`" in shown
    assert released.out.startswith("open: goods are bought again")
    assert again.out.startswith("nothing to do: it is open already")


def test_a_script_that_restores_says_so(ask: Ask) -> None:
    ask("engage", "--sign", "restore_command", *WHY)

    assert ask("status", "--json").document["signs"] == ["restore_command"]


@pytest.mark.parametrize("command", ["engage", "release"])
def test_nobody_acts_without_a_reason(ask: Ask, command: str) -> None:
    assert ask(command).code == 2
    assert "3 to 400 characters" in ask(command, "--reason", "x").err


@pytest.mark.parametrize("command", ["status", "engage", "release"])
def test_help_teaches(ask: Ask, command: str) -> None:
    told = ask(command, "--help")

    assert told.code == 0
    assert "Examples:" in told.out
