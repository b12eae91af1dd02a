"""The typed client speaks to the API as the contract says, and repeats what is lost."""

from collections.abc import Callable, Generator
from typing import Any

import httpx
import msgspec
import pytest

from api.http.app import described
from api.http.surface import Surface
from counterfoil.http import (
    ApiError,
    Job,
    Order,
    Problem,
    Report,
    Shop,
    UnreachableError,
)
from tests.fixtures.http import Api
from tests.fixtures.read_models import project

ORDER = {
    "orderId": "A-1001",
    "customerId": "anna",
    "kind": "purchase",
    "currency": "USD",
    "amountMinor": 1299,
    "lines": [{"line": 1, "type": "access", "days": 30}],
}


class Wire(httpx.HTTPTransport):
    """A wire that writes down what goes over it, and may lose answers."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[tuple[str, str, str | None]] = []
        self.losing = 0
        self.unavailable = 0

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        key = request.headers.get("idempotency-key")
        self.asked.append((request.method, request.url.path, key))
        if self.unavailable:
            self.unavailable -= 1
            return httpx.Response(503, headers={"Retry-After": "3"}, text="busy")
        answer = super().handle_request(request)
        if self.losing:
            self.losing -= 1
            answer.close()
            msg = "the answer was lost"
            raise httpx.ReadError(msg)
        return answer


class Pauses(list[float]):
    """Pauses that nobody waits for."""

    def __call__(self, seconds: float) -> None:
        self.append(seconds)


@pytest.fixture
def wire() -> Wire:
    return Wire()


@pytest.fixture
def pauses() -> Pauses:
    return Pauses()


@pytest.fixture
def shop(api: Api, wire: Wire, pauses: Pauses) -> Generator[Shop]:
    token = api.client(Surface.SHOPS).headers["authorization"].removeprefix("Bearer ")
    with Shop(api.address, token, transport=wire, sleep=pauses) as opened:
        yield opened


def test_an_order_is_settled_once_and_found_again(shop: Shop) -> None:
    order = shop.settle(ORDER)
    again = shop.settle(ORDER)

    assert (order.order_id, order.state, order.replayed) == ("A-1001", "paid", False)
    assert (again.id, again.replayed) == (order.id, True)
    assert shop.order("A-1001").id == order.id
    assert order.job_id is not None


def test_a_refund_is_a_job(shop: Shop) -> None:
    shop.settle(ORDER)

    job = shop.refund("A-1001", "charged back")

    assert job.kind == "order_refund"
    assert shop.refund("A-1001", "charged back").replayed


def test_jobs_are_asked_for_listed_and_reported(shop: Shop, api: Api) -> None:
    made = [shop.enqueue("mail", {"n": n}).id for n in range(5)]
    twin = shop.enqueue("mail", uniqueKey="one")
    position = shop.enqueue("mail", uniqueKey="one")
    project(api.services.database)

    found = [job.id for job in shop.jobs("kind:mail", limit=2)]

    assert (position.id, position.duplicate) == (twin.id, True)
    assert found == [twin.id, *reversed(made)]
    assert shop.job(made[0]).state == "queued"
    assert shop.job(made[0], wait=1).state == "queued"
    assert shop.report(made[0]).attempts == ()


def test_a_lost_answer_is_asked_for_again_under_the_same_key(
    shop: Shop, wire: Wire, pauses: Pauses, api: Api
) -> None:
    wire.losing = 2

    job = shop.enqueue("mail")

    assert job.state == "queued"
    assert len(wire.asked) == 3
    assert len({key for _, _, key in wire.asked}) == 1
    assert len(pauses) == 2
    with api.services.database.connection() as connection:
        (row,) = connection.execute("SELECT count(*) FROM counterfoil.jobs").fetchall()
    assert row[0] == 1


def test_it_waits_as_long_as_it_was_told(
    shop: Shop, wire: Wire, pauses: Pauses
) -> None:
    wire.unavailable = 2

    shop.enqueue("mail")

    assert pauses == [3.0, 3.0]


def test_a_refusal_is_an_error_with_its_code(shop: Shop, pauses: Pauses) -> None:
    with pytest.raises(ApiError) as refused:
        shop.enqueue("mail", nonsense=1)
    with pytest.raises(ApiError) as unknown:
        shop.order("A-7")

    assert refused.value.code == "unknown_field"
    assert refused.value.problem.errors[0].pointer == "#/nonsense"
    assert (unknown.value.code, unknown.value.problem.status) == ("not_found", 404)
    assert pauses == []


def test_patience_ends(api: Api, wire: Wire, pauses: Pauses) -> None:
    wire.losing = 1
    with (
        Shop(api.address, "ffl_none", transport=wire, sleep=pauses, patience=0) as shop,
        pytest.raises(UnreachableError),
    ):
        shop.enqueue("mail")


def test_what_stands_before_the_api_may_answer_anything(
    api: Api, wire: Wire, pauses: Pauses
) -> None:
    wire.unavailable = 1
    with (
        Shop(api.address, "ffl_none", transport=wire, sleep=pauses, patience=0) as shop,
        pytest.raises(ApiError) as refused,
    ):
        shop.order("A-1")

    assert (refused.value.code, refused.value.retry_after) == ("unknown", 3.0)


ANSWERS: dict[str, tuple[str, type[Any], Callable[[Shop], object]]] = {
    "/v1/orders/settle": ("post", Order, lambda shop: shop.settle(ORDER)),
    "/v1/orders/{order_id}/refund": ("post", Job, lambda shop: shop.refund("A", "x y")),
    "/v1/orders/{order_id}": ("get", Order, lambda shop: shop.order("A")),
    "/v1/jobs": ("post", Job, lambda shop: shop.enqueue("mail")),
    "/v1/jobs/{job_id}": ("get", Job, lambda shop: shop.job("J")),
    "/v1/jobs/{job_id}/report": ("get", Report, lambda shop: shop.report("J")),
}


@pytest.mark.parametrize("path", ANSWERS)
def test_every_call_is_one_of_the_contract(path: str) -> None:
    method, answer, call = ANSWERS[path]
    told = described()["paths"][path][method]
    (content,) = (
        it["content"]["application/json"]
        for status, it in told["responses"].items()
        if status.startswith("2")
    )
    asked: list[httpx.Request] = []

    def answered(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        return httpx.Response(200, json=content["example"])

    with Shop("http://api", "t", transport=httpx.MockTransport(answered)) as shop:
        made = call(shop)

    assert isinstance(made, answer)
    (request,) = asked
    assert request.method == method.upper()
    template = path.replace("{order_id}", "A").replace("{job_id}", "J")
    assert request.url.path == template


def test_a_problem_is_read_as_the_contract_tells_it() -> None:
    for code, example in described()["components"]["examples"].items():
        assert msgspec.convert(example["value"], Problem).code == code
