"""The contract says what the routes declare, and is committed as it is."""

import json
from typing import Any

import pytest

from api.http.app import described
from api.http.problems.catalogue import PROBLEMS
from api.http.surface import Surface
from tests.fixtures.http import Api
from tests.fixtures.processes import ROOT


def operations() -> list[tuple[str, dict[str, Any]]]:
    return [
        (f"{method.upper()} {path}", told)
        for path, methods in described()["paths"].items()
        for method, told in methods.items()
    ]


def resolved(told: dict[str, Any]) -> dict[str, Any]:
    """Return what a reference refers to, or what is no reference."""
    found: dict[str, Any] = CONTRACT if "$ref" in told else told
    for step in told.get("$ref", "#/").split("/")[1:]:
        found = found[step] if step else found
    return found


CONTRACT = described()
OPERATIONS = operations()
each = pytest.mark.parametrize(
    "told", [told for _, told in OPERATIONS], ids=[name for name, _ in OPERATIONS]
)


def test_the_committed_contract_is_the_one_that_is_served() -> None:
    committed = json.loads((ROOT / "docs" / "openapi.json").read_text("utf-8"))

    assert committed == CONTRACT, "the API has changed: `make contract` writes it"


def test_every_operation_has_a_name_of_its_own() -> None:
    names = [told["operationId"] for _, told in OPERATIONS]

    assert len(set(names)) == len(names)


@each
def test_an_operation_says_what_it_does_and_who_may(told: dict[str, Any]) -> None:
    assert told["summary"]
    assert told["security"] or "no credential" in told.get("description", "")


@each
def test_an_operation_names_the_problems_it_may_answer(told: dict[str, Any]) -> None:
    for status, answer in told["responses"].items():
        if int(status) >= 400:
            (content,) = resolved(answer)["content"].values()
            for code, example in content["examples"].items():
                assert PROBLEMS[code].status == int(status)
                assert resolved(example)["value"]["code"] == code


def test_a_token_reads_the_contract(api: Api) -> None:
    answer = api.client(Surface.SHOPS).get("/openapi.json")

    assert answer.json() == described()
