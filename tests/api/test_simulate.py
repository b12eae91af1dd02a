"""`simulate panel` as a process, and with it the whole way of one order."""

import json
import os
import socket
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from tests.api.command import TOKEN, Command, Started, panel_settings
from tests.fixtures.workers import until

pytestmark = pytest.mark.database

SQUAD = "8a4f6a0e-1c57-4d6c-9b1f-2f6f0a1d7c11"
CALLBACK_SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwQwErTyUiOpA="  # noqa: S105
ORDER = {
    "orderId": "shop:1",
    "customerId": "ann",
    "kind": "purchase",
    "currency": "USD",
    "amountMinor": 1299,
    "lines": [{"line": 1, "type": "access", "days": 30}],
}


def start_panel(command: Command, folder: Path, *arguments: str) -> tuple[Started, str]:
    """Return a simulated panel on a free port, and its address."""
    port_file = folder / "port"
    panel = command.start(
        "simulate", "panel", "--port", 0, "--port-file", port_file,
        "--book", folder / "panel.sqlite", *arguments,
        COUNTERFOIL_SIMULATOR_TOKEN=TOKEN,
    )  # fmt: skip
    panel.wait_for("simulated panel at")
    return panel, f"http://127.0.0.1:{port_file.read_text('utf-8').strip()}"


def asked(url: str) -> Any:  # noqa: ANN401 - JSON
    with urllib.request.urlopen(url, timeout=10) as answer:  # noqa: S310 - of the test
        return json.loads(answer.read())


def test_the_panel_listens_with_the_faults_that_were_asked_for(
    nowhere: Command, tmp_path: Path
) -> None:
    panel, url = start_panel(
        nowhere, tmp_path, "--fault-rate", "0.5", "--fault", "reset_after",
        "--fault", "error_before", "--seed", "7",
    )  # fmt: skip

    assert asked(url + "/_simulator/health")["status"] == "ok"
    rotation = asked(url + "/_simulator/faults")["rotation"]
    assert rotation == {
        "rate": 0.5,
        "names": ["reset_after", "error_before"],
        "seed": 7,
    }
    assert panel.stop().code == 0


def test_the_panel_knows_the_squads_that_it_was_told(
    nowhere: Command, tmp_path: Path
) -> None:
    panel, url = start_panel(nowhere, tmp_path, "--squad", SQUAD)
    headers = {
        "Authorization": f"Bearer {TOKEN}",
        "X-Forwarded-For": "127.0.0.1",
        "X-Forwarded-Proto": "https",
    }
    there = url + "/api/internal-squads"
    request = urllib.request.Request(there, headers=headers)  # noqa: S310 - of the test

    with urllib.request.urlopen(request, timeout=10) as answer:  # noqa: S310 - of the test
        assert SQUAD in answer.read().decode()

    assert panel.stop().code == 0


def test_the_gateway_listens_with_the_faults_that_were_asked_for(
    nowhere: Command, tmp_path: Path
) -> None:
    port_file = tmp_path / "port"
    gateway = nowhere.start(
        "simulate", "gateway", "--port", 0, "--port-file", port_file,
        "--ledger", tmp_path / "gateway.sqlite", "--balance", 500,
        "--fault-rate", "0.5", "--fault", "cut_after", "--seed", "7",
        COUNTERFOIL_SIMULATOR_TOKEN=TOKEN,
        COUNTERFOIL_SIMULATOR_CALLBACK_SECRET=CALLBACK_SECRET,
    )  # fmt: skip
    gateway.wait_for("simulated gateway at")
    url = f"http://127.0.0.1:{port_file.read_text('utf-8').strip()}"

    health = {"status": "ok", "requests": 0, "effects": 0, "balance": 500}
    assert asked(url + "/_simulator/health") == health
    share = asked(url + "/_simulator/faults")["share"]
    assert (share["rate"], share["names"], share["seed"]) == (0.5, ["cut_after"], 7)
    assert gateway.stop().code == 0


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (["--token", "t", "--fault", "nonsense"], 2, "'nonsense' is no fault"),
        (["--token", "t", "--ledger", __file__], 1, f"ledger {__file__}"),
        (["--token", "t", "--callback-secret", "s"], 1, "whsec_ and 24 to 64 bytes"),
    ],
)
def test_a_mistake_about_a_gateway_is_one_sentence(
    nowhere: Command, arguments: list[str], code: int, told: str
) -> None:
    result = nowhere("simulate", "gateway", "--port", 0, *arguments)

    assert result.code == code
    assert told in result.complaint()


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (["--token", "t", "--fault", "nonsense"], 2, "'nonsense' is no fault"),
        (["--token", "t", "--fault-rate", "2"], 2, "--fault-rate"),
        ([], 2, "--token"),
        (["--token", "t", "--book", __file__], 1, f"book {__file__}"),
    ],
)
def test_a_mistake_is_one_sentence(
    nowhere: Command, arguments: list[str], code: int, told: str
) -> None:
    result = nowhere("simulate", "panel", "--port", 0, *arguments)

    assert result.code == code
    assert told in result.complaint()


def test_a_port_that_is_taken_is_told(nowhere: Command, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]

        result = nowhere(
            "simulate", "panel", "--port", port, "--token", "t",
            "--book", tmp_path / "panel.sqlite",
        )  # fmt: skip

    assert result.code == 1
    assert f"port {port}" in result.complaint()


def test_an_order_is_settled_carried_to_the_panel_and_explained(
    counterfoil: Command, tmp_path: Path
) -> None:
    """From the file to the panel's user, every step a process of its own."""
    panel, url = start_panel(counterfoil, tmp_path)
    orders = tmp_path / "orders.jsonl"
    orders.write_text(json.dumps(ORDER), "utf-8")
    up = counterfoil.start("up", **panel_settings(url))
    up.wait_for("worker started")

    assert counterfoil("settle", orders).code == os.EX_OK
    story = until(lambda: _fulfilled(counterfoil))

    assert story["next"] == ["nothing: everything is done"]
    assert story["entitlements"][0]["observedStatus"] == "ACTIVE"
    assert asked(url + "/_simulator/health")["users"] == 1
    assert (up.stop().code, panel.stop().code) == (0, 0)


def _fulfilled(counterfoil: Command) -> Any:  # noqa: ANN401 - JSON
    story = counterfoil("why", "shop:1", "--json").document
    return story if story["orders"][0]["state"] == "fulfilled" else None
