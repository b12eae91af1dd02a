"""Requests made of the contract, right ones and wrong ones: nothing surprises the API.

no fault of ours      never a 5xx, but the 503 that the contract names
nothing undocumented  no status, no media type, no body that the contract lacks
nothing wrong taken   what the contract forbids is refused

make campaign ARGS="-rP tests/http/test_generated.py"    # ten times as many
"""

import os
from collections.abc import Iterator
from contextlib import suppress
from http import HTTPStatus
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.errors import Unsatisfiable
from hypothesis.stateful import run_state_machine_as_test
from schemathesis.checks import not_a_server_error
from schemathesis.config import SchemathesisConfig
from schemathesis.core.result import Ok
from schemathesis.generation import GenerationMode
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from api.http.app import described
from api.http.surface import Surface
from tests.fixtures.http import Api
from tests.http.world import World, lived_in


def no_fault_of_ours(ctx: Any, response: Any, case: Any) -> bool | None:  # noqa: ANN401 - theirs
    """Fail on what the API should never answer.

    Nobody projects beside these tests: who asks for a position that a list has not
    reached is told to come again, as the contract says.
    """
    is_late = response.status_code == HTTPStatus.SERVICE_UNAVAILABLE and (
        response.json().get("code") == "projection_behind"
    )
    return None if is_late else not_a_server_error(ctx, response, case)


pytestmark = pytest.mark.long

CHECKS = [
    no_fault_of_ours,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    negative_data_rejection,
]
EACH = int(os.environ.get("API_CASES_EACH", "8"))
RUNS, STEPS = 6, 12
"""Of whoever follows links: how often one begins, and how far one goes."""
ONLY = os.environ.get("API_ONLY", "")
"""Part of the paths that are asked for: `API_ONLY=/jobs pytest …`."""
CREDENTIAL = ("Authorization", "Cookie", "X-CSRF-Token")
"""Headers of who asks: what is generated for them is replaced."""
REFUSED = [400, 401, 403, 404, 405, 406, 409, 415, 422, 428, 429, 431, "5xx"]
"""Whose wrong parameter is longer than a head may be is told of the head."""
CONFIG = SchemathesisConfig.from_dict(
    {"checks": {"negative_data_rejection": {"expected-statuses": REFUSED}}}
)
SIGNS_OUT = "panel_sign_out"
SURFACES = (Surface.SHOPS, Surface.ADMIN, Surface.PANEL)


def without_credentials() -> dict[str, Any]:
    """Return the contract without who asks: the tests send that themselves."""
    told = described()
    del told["components"]["securitySchemes"]
    # A stream has no end that could be waited for; tests/http/live asks for it.
    told["paths"] = {
        path: methods
        for path, methods in told["paths"].items()
        if not path.endswith("/stream")
    }
    for methods in told["paths"].values():
        for operation in methods.values():
            operation["security"] = []
            operation["parameters"] = [
                each
                for each in operation["parameters"]
                if each["name"] not in CREDENTIAL
            ]
    return told


def of_surface(surface: Surface) -> Any:  # noqa: ANN401 - theirs
    """Return the contract of one surface alone."""
    told = without_credentials()
    tag = surface.name.lower()
    told["paths"] = {
        path: methods
        for path, methods in told["paths"].items()
        if ONLY in path and all(tag in each["tags"] for each in methods.values())
    }
    return schemathesis.openapi.from_dict(told, config=CONFIG)


contract = schemathesis.openapi.from_dict(without_credentials(), config=CONFIG)


def operations(surface: Surface) -> Iterator[Any]:
    """Yield what can be asked for on a surface."""
    tag = surface.name.lower()
    for found in contract.get_all_operations():
        assert isinstance(found, Ok)
        operation = found.ok()
        told = operation.definition.raw
        if told["operationId"] == SIGNS_OUT:
            continue  # whoever has signed out asks for nothing else
        if tag in told["tags"] and ONLY in operation.path:
            yield operation


def ask(api: Api, surface: Surface, world: World, mode: GenerationMode, n: int) -> int:
    """Ask each operation of the surface `n` times; return how often in all."""
    client = api.client(surface)
    headers = {
        name: client.headers[name] for name in CREDENTIAL if name in client.headers
    }
    asked = 0
    for operation in operations(surface):

        @given(case=operation.as_strategy(generation_mode=mode), ids=world.ids())
        @settings(
            max_examples=n,
            database=None,
            deadline=None,
            derandomize=True,
            phases=[Phase.explicit, Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        def once(case: Any, ids: dict[str, str]) -> None:  # noqa: ANN401 - theirs
            nonlocal asked
            asked += 1
            if mode is GenerationMode.POSITIVE:
                for name in case.path_parameters or {}:
                    case.path_parameters[name] = ids.get(name, ids["any"])
            for name in headers:
                case.headers.pop(name, None)
            case.call_and_validate(base_url=api.address, headers=headers, checks=CHECKS)

        # Of what takes nothing there is nothing that could be wrong.
        with suppress(Unsatisfiable):
            once()
    return asked


@pytest.mark.parametrize("surface", SURFACES)
@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE])
def test_nothing_surprises_the_api(
    api: Api, surface: Surface, mode: GenerationMode
) -> None:
    with lived_in(api) as world:
        asked = ask(api, surface, world, mode, EACH)

    assert asked > 0


def follow(api: Api, surface: Surface, runs: int) -> int:
    """Follow the links of answers, from one to the next; return how often in all."""
    client = api.client(surface)
    sent = {name: client.headers[name] for name in CREDENTIAL if name in client.headers}
    asked = 0

    class Workflow(of_surface(surface).as_state_machine()):  # type: ignore[misc]
        def get_call_kwargs(self, case: Any) -> dict[str, Any]:  # noqa: ANN401 - theirs
            del case
            return {"base_url": api.address, "headers": sent}

        def validate_response(self, response: Any, case: Any, **_: Any) -> None:  # noqa: ANN401 - theirs
            nonlocal asked
            asked += 1
            case.validate_response(response, checks=CHECKS)

    # Each way is a search of its own: what there is to follow depends on what was done
    # before, and Hypothesis takes what it cannot repeat for a flaky test.
    for number in range(runs):
        run_state_machine_as_test(
            seed(number)(Workflow),
            settings=settings(
                max_examples=2,  # the shortest way, and one by the seed
                stateful_step_count=STEPS,
                database=None,
                deadline=None,
                phases=[Phase.explicit, Phase.generate],
                suppress_health_check=list(HealthCheck),
            ),
        )
    return asked


@pytest.mark.parametrize("surface", SURFACES)
def test_whoever_follows_links_is_not_surprised(api: Api, surface: Surface) -> None:
    with lived_in(api):
        assert follow(api, surface, RUNS) > 0


@pytest.mark.campaign
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("surface", SURFACES)
def test_whoever_follows_links_for_long_is_not_surprised(
    api: Api, surface: Surface
) -> None:
    with lived_in(api):
        print(f"cases: {follow(api, surface, RUNS * 10)}")  # noqa: T201 - of the report


@pytest.mark.campaign
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("surface", SURFACES)
@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE])
def test_nothing_surprises_the_api_for_long(
    api: Api, surface: Surface, mode: GenerationMode
) -> None:
    with lived_in(api) as world:
        asked = ask(api, surface, world, mode, EACH * 10)
    print(f"cases: {asked}")  # noqa: T201 - of the report
