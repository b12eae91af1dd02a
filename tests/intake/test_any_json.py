"""Whatever JSON is asked for, it is carried out or refused by name; nothing else."""

from typing import Any, cast

from hypothesis import example, given
from hypothesis import strategies as st

from application.front_door import Enqueued, RefundAsked, Settled
from application.intake.defaults import job_asked, refund_asked, settlement_asked
from application.intake.intake import Intake
from application.intake.port import Asking
from domain.errors import InvalidRequestError
from domain.event import JsonObject
from infrastructure.ids import new_id
from tests.intake.asked import asking, order

SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
JSON = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner)
    ),
    max_leaves=6,
)
NAMES = st.sampled_from(
    ["kind", "tenant", "orderId", "lines", "args", "queue", "reason", "notify", "x"]
)
REQUESTS = st.dictionaries(NAMES, JSON, max_size=5)


class Door:
    """A front door that takes everything."""

    def settle_order(self, request: JsonObject, asking: Asking) -> Settled:
        assert request["tenant"] == "acme"
        assert asking.meta.actor.id == "web"
        return Settled(
            order_id="A-1",
            stream_id=new_id(),
            job_id=None,
            replayed=False,
            position=1,
        )

    def refund_order(self, request: JsonObject, asking: Asking) -> RefundAsked:
        assert (request["tenant"], request["orderId"]) == ("acme", "A-1")
        assert asking.meta.actor.id == "web"
        return RefundAsked(
            order_id="A-1",
            stream_id=None,
            job_id=new_id(),
            replayed=False,
            position=1,
        )

    def enqueue(self, request: JsonObject, asking: Asking) -> Enqueued:
        assert request["tenant"] == "acme"
        assert asking.meta.actor.id == "web"
        return Enqueued(job_id=new_id(), duplicate=False, position=1)


INTAKE = Intake(Door(), refusals=cast("Any", None))


@given(REQUESTS)
@example({"kind": [], "lines": [{"type": "access"}]})
@example({"kind": {}, "tenant": [], "orderId": {}})
def test_any_object_is_asked_for_or_refused_by_a_member(request: JsonObject) -> None:
    for ask in (
        lambda: INTAKE.settle_order(request, asking()),
        lambda: INTAKE.refund_order("A-1", request, asking()),
        lambda: INTAKE.enqueue(request, asking()),
    ):
        try:
            ask()
        except InvalidRequestError as error:
            told = error.path
        else:
            continue
        assert told in {"tenant", "orderId", "kind"}


@given(REQUESTS)
@example({"kind": [], "lines": [{"type": "access"}, {"type": "goods", "product": 1}]})
def test_what_is_told_outweighs_every_default(request: JsonObject) -> None:
    """And lines are told whole; so no two requests are one that are not."""
    apart = {"tenant", "notify"}
    for whole in (
        job_asked(request),
        refund_asked("A-1", request),
        settlement_asked(request),
    ):
        assert not apart & set(whole)
        for name in set(request) - apart - {"lines"}:
            assert whole[name] is request[name]


def test_defaults_that_are_told_make_no_other_request() -> None:
    told = order(slot=1, discountMinor=0, effectiveAt=None, notify=False)
    lines = cast("list[dict[str, object]]", told["lines"])
    told["lines"] = [lines[0] | {"graceSeconds": 0, "squadIds": [], "endsAt": None}]

    assert settlement_asked(told) == settlement_asked(order())
    assert settlement_asked(order(slot=2)) != settlement_asked(order())
