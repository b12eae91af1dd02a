"""Holds, callbacks, the control paths, and a ledger that outlives a kill."""

import base64
import hashlib
import hmac
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, cast

import httpx
import pytest

from infrastructure.simulators.gateway.faults import FaultRule
from infrastructure.simulators.gateway.signing import SecretError, secret_bytes
from infrastructure.simulators.gateway.simulator import GatewaySimulator
from infrastructure.simulators.gateway.store import LedgerInUseError
from tests.simulators.gateway.stage import KEY, SECRET, SETTINGS, TOKEN, Keyed, opened
from tests.simulators.stage import SetClock

SERVE = f"""
from pathlib import Path
from infrastructure.simulators.gateway.main import serve
from infrastructure.simulators.gateway.simulator import GatewaySettings
import sys
serve(port=0, ledger=Path(sys.argv[1]), settings=GatewaySettings(token="{TOKEN}"),
      ready=lambda port: print(port, flush=True))
"""


def control(client: httpx.Client, switch: str, **members: object) -> Any:  # noqa: ANN401 - JSON
    answer = client.post(f"/_simulator/{switch}", json=members)
    assert answer.status_code == 200, answer.text
    return answer.json()


@pytest.mark.parametrize(
    ("point", "effects"), [("before_accept", 0), ("after_accept", 1)]
)
def test_a_held_purchase_stands_still_at_its_point(
    gateway: GatewaySimulator, keyed: Keyed, point: str, effects: int
) -> None:
    hold = gateway.hold(point, KEY)
    with ThreadPoolExecutor() as buyers:
        answer = buyers.submit(keyed.buy)
        seq = hold.wait_arrived()

        assert [request.seq for request in gateway.requests()] == [seq]
        assert len(gateway.effects()) == effects
        hold.release()

        assert answer.result().json()["state"] == "delivered"
    assert len(gateway.effects()) == 1


def test_a_dropped_purchase_ends_there(gateway: GatewaySimulator, keyed: Keyed) -> None:
    hold = gateway.hold("before_accept")
    hold.release(drop=True)
    bought = keyed.buy()  # a stop that is over stops nobody
    other = gateway.hold("before_accept", "k:2")
    with ThreadPoolExecutor() as buyers:
        answer = buyers.submit(keyed.buy, "k:2")
        other.wait_arrived()
        other.release(drop=True)

        with pytest.raises(httpx.TransportError):
            answer.result()
    assert bought.status_code == 200
    assert [effect.key for effect in gateway.effects()] == [KEY]


def test_a_held_look_up_is_seen_over_http(client: httpx.Client, keyed: Keyed) -> None:
    number = control(client, "hold", point="before_lookup", match=KEY)["hold"]
    with ThreadPoolExecutor() as buyers:
        answer = buyers.submit(keyed.look_up)

        assert control(client, "held", hold=number)["held"] == 1
        control(client, "release", hold=number)

        assert answer.result().status_code == 404
    assert control(client, "held", hold=number, timeout_s=0)["held"] == 1


def test_nobody_held_is_told(client: httpx.Client) -> None:
    number = control(client, "hold", point="after_accept")["hold"]

    assert control(client, "held", hold=number, timeout_s=0.01) == {"held": None}


def test_a_callback_is_signed_as_standard_webhooks_says(
    gateway: GatewaySimulator, keyed: Keyed, clock: SetClock
) -> None:
    keyed.buy()

    (callback,) = gateway.callbacks(KEY)

    headers, body = cast("dict[str, str]", callback["headers"]), callback["body"]
    assert int(headers["webhook-timestamp"]) == clock.now // 1000
    message = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.{body}"
    key = base64.b64decode(SECRET.removeprefix("whsec_"))
    digest = hmac.new(key, message.encode(), hashlib.sha256).digest()
    assert headers["webhook-signature"] == f"v1,{base64.b64encode(digest).decode()}"


def test_a_callback_is_there_before_the_answer(
    gateway: GatewaySimulator, keyed: Keyed
) -> None:
    hold = gateway.hold("after_accept")
    with ThreadPoolExecutor() as buyers:
        answer = buyers.submit(keyed.buy)
        hold.wait_arrived()

        assert len(gateway.callbacks()) == 1
        hold.release()

        assert answer.result().status_code == 200


@pytest.mark.parametrize(
    ("name", "kind"), [("deliver_later", "delivered"), ("fail_later", "failed")]
)
def test_time_ends_what_was_accepted(  # noqa: PLR0913 - fixtures and a table
    gateway: GatewaySimulator, client: httpx.Client, keyed: Keyed, clock: SetClock,
    *, name: str, kind: str,
) -> None:  # fmt: skip
    gateway.faults.set(FaultRule(name, seconds=3))
    keyed.buy()
    assert keyed.look_up().json()["state"] == "accepted"
    clock.now += 3_000

    assert keyed.look_up().json()["state"] == kind

    (callback,) = control(client, "callbacks", key=KEY)
    assert f'"type": "purchase.{kind}"' in callback["body"]
    assert control(client, "callbacks", key="other") == []


def test_the_control_paths_switch_and_tell(client: httpx.Client, keyed: Keyed) -> None:
    control(client, "faults", rules=[{"name": "deliver_later"}], seed=3)
    keyed.buy()
    struck = client.get("/_simulator/faults").json()["struck"]
    control(client, "complete", name=KEY, state="delivered")
    control(client, "balance", minor=5)
    control(client, "fault", name="forbidden", match="k:2")

    assert struck == {"deliver_later": 1}
    health = client.get("/_simulator/health").json()
    assert health == {"status": "ok", "requests": 1, "effects": 1, "balance": 5}


@pytest.mark.parametrize(
    ("switch", "body"),
    [
        ("faults", '{"rules": [{"name": "nonsense"}]}'),
        ("hold", '{"point": "nowhere"}'),
        ("hold", "{}"),
        ("held", '{"hold": 99}'),
        ("complete", '{"name": "k", "state": "delivered"}'),
        ("complete", '{"name": "k", "state": "lost"}'),
        ("balance", '{"minor": "much"}'),
        ("faults", "no JSON"),
        ("faults", "[]"),
    ],
)
def test_nonsense_over_http_is_a_400(
    client: httpx.Client, switch: str, body: str
) -> None:
    assert client.post(f"/_simulator/{switch}", content=body).status_code == 400


def test_there_are_no_other_switches(client: httpx.Client) -> None:
    assert client.get("/_simulator/users").status_code == 404


@pytest.mark.parametrize("secret", ["whsec_", "whsec_c2hvcnQ=", "whsec_!", SECRET[6:]])
def test_a_secret_of_another_form_signs_nothing(secret: str) -> None:
    with pytest.raises(SecretError):
        secret_bytes(secret)


def test_a_ledger_has_one_writer(gateway: GatewaySimulator, tmp_path: Path) -> None:
    del gateway
    with pytest.raises(LedgerInUseError):
        GatewaySimulator(ledger=tmp_path / "gateway.db", settings=SETTINGS)


def serving(ledger: Path) -> tuple[subprocess.Popen[str], str]:
    process = subprocess.Popen(
        [sys.executable, "-c", SERVE, ledger], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    return process, f"http://127.0.0.1:{process.stdout.readline().strip()}"


def killed(process: subprocess.Popen[str], number: signal.Signals) -> int:
    os.kill(process.pid, number)
    with process:
        return process.wait()


def test_what_was_bought_outlives_a_kill_before_the_answer(tmp_path: Path) -> None:
    """The gateway accepts and dies; whoever starts it again finds the purchase."""
    process, url = serving(tmp_path / "gateway.db")
    with ThreadPoolExecutor() as buyers, opened(url) as client:
        number = control(client, "hold", point="after_accept")["hold"]
        answer = buyers.submit(Keyed(client).buy)
        assert control(client, "held", hold=number)["held"] == 1

        assert killed(process, signal.SIGKILL) == -signal.SIGKILL

        with pytest.raises(httpx.TransportError):
            answer.result()
    process, url = serving(tmp_path / "gateway.db")
    with opened(url) as client:
        keyed = Keyed(client)
        assert keyed.look_up().json()["state"] == "delivered"
        assert keyed.buy().headers["Idempotency-Replayed"] == "true"
        assert keyed.balance() == 999_999_900
        assert client.get("/_simulator/health").json()["effects"] == 1
    assert killed(process, signal.SIGTERM) == 0
