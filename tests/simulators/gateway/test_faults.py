"""Each fault: what the buyer hears, and what was really handed over."""

import socket
from http import HTTPStatus

import httpx
import pytest

from infrastructure.simulators.gateway.faults import (
    FAULT_NAMES,
    FaultError,
    FaultPlan,
    FaultRule,
    Share,
)
from infrastructure.simulators.gateway.simulator import GatewaySimulator
from tests.simulators.gateway.stage import KEY, Blind, Keyed

HEARD: dict[str, tuple[str, int]] = {
    "slow": ("200 delivered", 1),
    "cut_before": ("nothing", 0),
    "error_before": ("503", 0),
    "garbage_before": ("garbage", 0),
    "limited": ("429", 0),
    "unauthorized": ("401", 0),
    "forbidden": ("403", 0),
    "balance_out": ("402", 0),
    "redirect": ("302", 0),
    "lie_delivered": ("200 delivered", 0),
    "cut_after": ("nothing", 1),
    "late": ("200 delivered", 1),
    "twice": ("200 delivered", 1),
    "error_after": ("503", 1),
    "garbage_after": ("garbage", 1),
    "big_body": ("200 delivered", 1),
    "lie_failed": ("200 failed", 1),
    "deliver_later": ("200 accepted", 0),
    "fail_later": ("200 accepted", 0),
}
"""What a keyed buyer hears, and how many effects there are then."""


def heard(keyed: Keyed) -> str:
    try:
        answer = keyed.buy()
    except httpx.TransportError:
        return "nothing"
    if answer.status_code != HTTPStatus.OK:
        return str(answer.status_code)
    if answer.headers["Content-Type"] == "text/html":
        return "garbage"
    return f"200 {answer.json()['state']}"


@pytest.mark.parametrize("name", FAULT_NAMES)
def test_a_fault_says_one_thing_and_the_ledger_another(
    gateway: GatewaySimulator, keyed: Keyed, name: str
) -> None:
    seconds = 0.01 if name in {"slow", "late"} else None
    gateway.faults.set(FaultRule(name, seconds=seconds, status=503))

    assert (heard(keyed), len(gateway.effects())) == HEARD[name]
    assert gateway.requests()[0].fault == name


def test_a_refusal_by_limit_says_how_long(
    gateway: GatewaySimulator, keyed: Keyed
) -> None:
    gateway.faults.set(FaultRule("limited", retry_after=7))

    assert keyed.buy().headers["Retry-After"] == "7"


def test_a_body_is_longer_than_a_careful_buyer_reads(
    gateway: GatewaySimulator, keyed: Keyed
) -> None:
    gateway.faults.set(FaultRule("big_body"))

    assert len(keyed.buy().content) > 1 << 20


def test_an_answer_twice_is_two_messages_and_two_callbacks(
    gateway: GatewaySimulator,
) -> None:
    gateway.faults.set(FaultRule("twice"))
    with socket.create_connection(("127.0.0.1", gateway.port)) as wire:
        body = (
            b'{"orderId":"1","product":{"kind":"telegram_stars","quantity":50},'
            b'"quantity":1,"recipient":"ann_lee","currency":"USD","amountMinor":1}'
        )
        head = (
            f"POST /purchases HTTP/1.1\r\nAuthorization: Bearer gateway-token\r\n"
            f"Idempotency-Key: k\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        wire.sendall(head.encode() + body)
        wire.shutdown(socket.SHUT_WR)
        received = b"".join(iter(lambda: wire.recv(65_536), b""))

    assert received.count(b"HTTP/1.1 200") == 2
    first, second = gateway.callbacks()
    assert first == second
    assert len(gateway.effects()) == 1


@pytest.mark.parametrize(
    ("name", "effects"), [("lie_delivered", 0), ("cut_after", 1), ("lie_failed", 1)]
)
def test_a_blind_gateway_lies_and_dies_as_well(
    gateway: GatewaySimulator, blind: Blind, name: str, effects: int
) -> None:
    gateway.faults.set(FaultRule(name, times=1))

    try:
        told = blind.send().json()["ok"]
    except httpx.TransportError:
        told = None

    assert told == {"lie_delivered": True, "cut_after": None, "lie_failed": False}[name]
    assert len(gateway.effects()) == effects


@pytest.mark.parametrize("state", ["delivered", "failed"])
def test_what_is_accepted_ends_when_it_is_told_to(
    gateway: GatewaySimulator, keyed: Keyed, state: str
) -> None:
    gateway.faults.set(FaultRule("deliver_later"))
    keyed.buy()
    paid = keyed.balance()

    gateway.complete(KEY, state)

    assert keyed.look_up().json()["state"] == state
    assert len(gateway.effects()) == (state == "delivered")
    assert keyed.balance() - paid == (100 if state == "failed" else 0)
    with pytest.raises(LookupError):
        gateway.complete(KEY, state)


def test_a_look_up_can_go_wrong_too(gateway: GatewaySimulator, keyed: Keyed) -> None:
    keyed.buy()
    gateway.faults.set(FaultRule("error_before", on="lookup", times=1))

    assert keyed.look_up().status_code == 502
    assert keyed.look_up().status_code == 200


def test_a_rule_is_about_whom_it_names(gateway: GatewaySimulator, keyed: Keyed) -> None:
    gateway.faults.set(FaultRule("error_before", match="bob"))
    gateway.faults.add(FaultRule("forbidden", match=":9", times=1))

    assert keyed.buy("k:1").status_code == 200
    assert keyed.buy("k:2", recipient="bob_lee").status_code == 502
    assert [keyed.buy("k:9").status_code for _ in range(2)] == [403, 200]


def test_a_seed_gives_a_key_its_faults_whatever_else_runs() -> None:
    keys = [f"k:{number}" for number in range(200)]
    one, other = FaultPlan(), FaultPlan()
    for plan in (one, other):
        plan.set(share=Share(0.5, seed=7))

    drawn = {key: one.choose("purchase", (key,)) for key in keys}

    assert {key: other.choose("purchase", (key,)) for key in reversed(keys)} == drawn
    struck = [rule for rule in drawn.values() if rule is not None]
    assert 60 < len(struck) < 140
    assert len({rule.name for rule in struck}) > 10


@pytest.mark.parametrize(
    "document",
    [
        {"rules": [{"name": "nonsense"}]},
        {"rules": [{"name": "slow", "on": "sale"}]},
        {"rules": [{"name": "slow", "probability": 2}]},
        {"rules": [{"nom": "slow"}]},
        {"share": {"rate": 2}},
        {"share": {"rate": 0.5, "names": ["nonsense"]}},
        {"latency": 1},
    ],
)
def test_nonsense_is_refused(document: dict[str, object]) -> None:
    with pytest.raises(FaultError):
        FaultPlan().configure(document)
