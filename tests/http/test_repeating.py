"""Whatever changes something can be asked for again when its answer was lost."""

from collections.abc import Callable

import pytest

from api.http.app import every_operation
from api.http.contract.listing import Operation
from api.http.route import Key
from tests.fixtures.http import Api
from tests.http.standing.test_feeds import drift
from tests.operators.world import World, world

__all__ = ["world"]

IDEMPOTENT = {"PUT", "DELETE"}
"""Methods that say how a thing is to be: said again, it is so already."""

BY_ITSELF = {
    "add_evidence": "the digest of the file is its key: 200 when it is there",
    "add_person": "the name is its key: 409 when somebody has it",
    "create_token": "the name is its key: 409, for its text is told once",
    "sign_in": "a session before it is over",
    "take_callback": "the provider's id of the event is its key",
}
"""Requests that take no key, and why they need none."""

CHANGES = [each for each in every_operation() if each.declared.is_change]


def named(operation: Operation) -> str:
    return operation.handler.fn.__name__


def test_a_change_takes_a_key_or_needs_none() -> None:
    """A new route: `key=Key.TAKEN` and `answered` (api.http.keyed)."""
    wrong = [
        f"{each.declared.method} {each.path}"
        for each in CHANGES
        if (each.declared.key is not Key.NONE) == is_harmless(each)
    ]

    assert wrong == []


def is_harmless(operation: Operation) -> bool:
    return operation.declared.method in IDEMPOTENT or named(operation) in BY_ITSELF


def test_nothing_is_excused_that_is_not_there() -> None:
    assert set(BY_ITSELF) <= {named(each) for each in CHANGES}


LATER = "UPDATE counterfoil.test_clock SET ahead = ahead + interval '20 minutes'"

type Ask = tuple[str, str, dict[str, object] | None]
"""A method, a path, and a body."""


def pausing(_world: World) -> Ask:
    return "POST", "/projections/jobs/pause", None


def resuming(_world: World) -> Ask:
    return "POST", "/projections/jobs/resume", None


def limiting(_world: World) -> Ask:
    return "PATCH", "/queues/bulk", {"concurrency": 3}


def reconciling(world: World) -> Ask:
    return "POST", f"/drifts/drf_{drift(world)}.expiry/reconcile", None


@pytest.mark.database
@pytest.mark.parametrize(
    ("asking", "action"),
    [
        (pausing, "projection.paused"),
        (resuming, "projection.resumed"),
        (limiting, "queue.limited"),
        (reconciling, "operation.requested"),
    ],
)
def test_under_its_key_it_is_done_and_on_record_once(
    api: Api, world: World, asking: Callable[[World], Ask], action: str
) -> None:
    """Also a quarter of an hour later, when another reconciliation could be due."""
    method, path, body = asking(world)
    ops = api.client()
    ops.headers["Idempotency-Key"] = "ticket-4711"
    # It was read before the first answer was lost.
    ops.headers["If-Match"] = '"queue_bulk:0"'

    first = ops.request(method, path, json=body)
    world.connection.execute(LATER)
    again = ops.request(method, path, json=body)
    ops.headers["Idempotency-Key"] = "ticket-4712"
    other = ops.request(method, path, json=body)

    assert first.status_code == again.status_code, again.text
    assert "idempotency-replayed" not in first.headers
    assert again.headers["idempotency-replayed"] == "true"
    assert told(first.json()) == told(again.json())
    assert "idempotency-replayed" not in other.headers
    assert [each[0] for each in world.taken()].count(action) == (
        1 + (other.status_code < 300)
    )


def told(answer: dict[str, object]) -> dict[str, object]:
    """Return what does not tell of one time alone."""
    passing = {"events", "position", "replayed", "tried"}
    return {name: value for name, value in answer.items() if name not in passing}
