"""A panel that answers what no panel should: it waits for a person, unrecorded."""

import json
import socket

import pytest

from application.ports import Confirmed, Misconfigured, PanelAnswer, Shown
from infrastructure.providers.panel.http_panel import HttpPanel
from infrastructure.providers.panel.wire import PanelWire
from tests.providers.raw_server import RawServer, answer
from tests.providers.stage import DESIRED, SQUAD, USERNAME, OpenGuard, access_to

USER: dict[str, object] = {
    "id": 1,
    "username": USERNAME,
    "status": "ACTIVE",
    "expireAt": "2030-01-01T00:00:00.000Z",
    "trafficLimitBytes": 0,
    "hwidDeviceLimit": 0,
    "activeInternalSquads": [],
}

STRANGE = {
    "an id of more than 8 bytes": {"id": 2**63},
    "an id of 0": {"id": 0},
    "traffic of more than 8 bytes": {"trafficLimitBytes": 2**63},
    "traffic below 0": {"trafficLimitBytes": -1},
    "half a byte": {"trafficLimitBytes": 0.5},
    "devices of more than 4 bytes": {"hwidDeviceLimit": 2**31},
    "devices below 0": {"hwidDeviceLimit": -1},
    "a squad of NUL": {"activeInternalSquads": [{"uuid": "\0"}]},
    "a squad of half a character": {"activeInternalSquads": [{"uuid": "\ud800"}]},
    "a squad of 900,000 letters": {"activeInternalSquads": [{"uuid": "a" * 900_000}]},
    "1,001 squads": {"activeInternalSquads": [{"uuid": SQUAD}] * 1_001},
    "an expiry before year 1": {"expireAt": "0001-01-01T00:00:00+14:00"},
    "an expiry after year 9999": {"expireAt": "9999-12-31T23:59:59-14:00"},
    "an expiry without an offset": {"expireAt": "2030-01-01T00:00:00"},
    "a status that nobody knows": {"status": "BANNED"},
    "no status": {"status": None},
}


def looked(members: dict[str, object]) -> tuple[object, PanelAnswer]:
    """Return what a look and a pause make of a panel that shows such a user."""
    body = json.dumps({"response": USER | members}).encode()

    def talk(connection: socket.socket, _head: bytes) -> None:
        connection.sendall(answer(body))

    access = access_to(DESIRED, panel_user_id=1)
    with RawServer(talk) as server:
        panel = HttpPanel(PanelWire(server.url, "t"))
        seen = panel.read(access, "op.1", OpenGuard())
        done = panel.carry_out("enable", access, "op.2", OpenGuard())
        panel.close()
    return seen, done


def test_a_user_within_all_bounds_is_seen() -> None:
    bounds: dict[str, object] = {
        "id": 2**63 - 1,
        "trafficLimitBytes": 2**63 - 1,
        "hwidDeviceLimit": 2**31 - 1,
        "activeInternalSquads": [{"uuid": SQUAD.upper()}] * 1_000,
        "expireAt": "9999-12-31T23:59:59.999Z",
    }

    seen, done = looked(bounds)

    assert isinstance(seen, Shown)
    assert seen.sight.squad_ids == (SQUAD,)
    assert isinstance(done, Confirmed)


@pytest.mark.parametrize("members", STRANGE.values(), ids=STRANGE)
def test_what_is_beyond_all_bounds_is_no_user_as_we_know_it(
    members: dict[str, object],
) -> None:
    """I12: nothing that the panel wrote goes on record, however long or strange."""
    for told in looked(members):
        assert isinstance(told, Misconfigured)
        assert told.cause == "panel_configuration"
        assert told.detail.startswith("GET users/{id}: ")
        assert len(told.detail) < 100
