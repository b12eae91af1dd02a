"""Who asks in the trial goes on asking, follows without a gap, and believes nothing."""

import json
from typing import Final

import pytest

from deploy.trial.asking import LOST, PUT_OFF, Caller
from deploy.trial.following import Follower
from deploy.trial.orders import orders
from deploy.trial.probing import misgivings
from deploy.trial.sending import Shops
from deploy.trial.world import Listened, TrialError
from tests.deploy.api import Said, speaking

SENT: Final = orders(2)
REPLAYED: Final = {"Idempotency-Replayed": "true"}


def settled(number: int, state: str = "paid", *, replayed: bool = False) -> Said:
    """Return what the API says of an order that it has taken."""
    body = {"id": f"ord_{number}", "orderId": SENT[number].order, "state": state}
    return 202, REPLAYED if replayed else {}, json.dumps(body)


def test_what_was_not_answered_is_asked_again_under_the_same_key() -> None:
    busy = (503, {"Retry-After": "0"}, "{}")
    going = (409, {"Retry-After": "0"}, '{"code": "idempotency_in_progress"}')
    with speaking(None, busy, going, settled(0, replayed=True)) as api:
        shops = Shops(Caller(api.address, {}), (), pause_seconds=0)

        ids = shops.send(SENT[:1], lambda _: None)

    assert ids == {"trial-000": "ord_0"}
    assert shops.caller.tally == {LOST: 1, PUT_OFF: 1}
    assert {it["Idempotency-Key"] for it in api.asked} == {"settle-trial-000"}


def test_a_replay_of_what_nobody_has_sent_is_told() -> None:
    with speaking(settled(0, replayed=True)) as api:
        shops = Shops(Caller(api.address, {}), (), pause_seconds=0)

        with pytest.raises(TrialError, match="nobody has sent it before"):
            shops.send(SENT[:1], lambda _: None)


@pytest.mark.parametrize(
    "second",
    [settled(0), settled(1, replayed=True), (500, {}, '{"code": "internal"}')],
    ids=["not marked", "another order", "refused"],
)
def test_a_repetition_that_is_not_answered_as_one_is_told(second: Said) -> None:
    with speaking(settled(0), second) as api:
        shops = Shops(Caller(api.address, {}), ("trial-000",), pause_seconds=0)

        with pytest.raises(TrialError):
            shops.send(SENT[:1], lambda _: None)


@pytest.mark.parametrize(
    ("answers", "told"),
    [
        ((settled(0, replayed=True),), "answered as it was"),
        (
            (
                settled(0, "fulfilled", replayed=True),
                settled(1, "fulfilled", replayed=True),
                settled(0, "fulfilled", replayed=True),
                (409, {}, '{"code": "unique_job_active"}'),
            ),
            "its key was taken",
        ),
    ],
)
def test_sent_again_it_has_to_be_told_as_it_is(
    answers: tuple[Said, ...], told: str
) -> None:
    with speaking(*answers) as api:
        shops = Shops(Caller(api.address, {}), (), pause_seconds=0)

        with pytest.raises(TrialError, match=told):
            shops.send_again(SENT, {"trial-000": "ord_0", "trial-001": "ord_1"})


def frame(position: int, order: str) -> str:
    """Return a frame of the stream."""
    data = json.dumps({"id": order})
    return f"id: {position}\nevent: order.fulfilled\ndata: {data}\n\n"


def test_a_stream_that_breaks_off_is_resumed_behind_what_was_told() -> None:
    sse = {"Content-Type": "text/event-stream"}
    first = "retry: 3000\nid: 3\n\n" + frame(7, "ord_0") + "id: 9\nevent: order.f"
    with (
        speaking((200, sse, first), (200, sse, frame(9, "ord_1"))) as api,
        Follower(Caller(api.address, {})) as follower,
    ):
        follower.wait_for(("ord_0", "ord_1"), 10)

    assert api.asked[1]["Last-Event-ID"] == "7"
    assert follower.resumed >= 1
    assert not follower.was_reset


def listened(**changed: str) -> Listened:
    """Return what an API says after the orders, some lines changed."""
    lines = {
        "requests": '{route="/v1/orders/settle",method="POST",status_class="2xx"} 120',
        "keys": '{result="replayed"} 20',
        "build": '{version="0.1.0"} 1',
        "up": '{dependency="database"} 1',
        "jobs": '{queue="default",state="ready"} 0',
    } | changed
    names = ("http_requests_total", "idempotency_total", "build_info", "dependency_up")
    exposed = "".join(
        f"counterfoil_{name}{line}\n"
        for name, line in zip((*names, "jobs"), lines.values(), strict=True)
    )
    probes = dict.fromkeys(("/livez", "/readyz", "/startupz"), (200, "{}"))
    return {**probes, "/metrics": (200, exposed)}


def test_a_role_that_is_well_raises_no_misgivings() -> None:
    assert list(misgivings("api", listened())) == []


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"requests": '{route="/v1/orders/settle"} 3'}, "has counted nothing"),
        ({"up": '{dependency="database"} 0'}, "database"),
        ({"jobs": '{queue="default",state="ready"} 3'}, "jobs is 3"),
    ],
)
def test_a_role_that_is_not_well_is_told(changed: dict[str, str], told: str) -> None:
    (misgiving,) = misgivings("api", listened(**changed))

    assert told in misgiving


def test_a_probe_that_is_not_well_is_told() -> None:
    said = {**listened(), "/readyz": (503, "failing")}

    assert list(misgivings("api", said)) == ["api: /readyz answers 503: failing"]
