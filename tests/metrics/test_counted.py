"""What becomes of requests is counted by route template, code and surface."""

# ruff: noqa: ANN401 - ASGI
import asyncio
from typing import Any

import pytest

from api.http.counted import Counted

type Told = list[tuple[Any, ...]]


class Counts:
    def __init__(self) -> None:
        self.told: Told = []

    def began(self, surface: str) -> None:
        self.told.append(("began", surface))

    def answered(  # noqa: PLR0913 - see `api.http.counted.Counts`
        self,
        surface: str,
        route: str,
        method: str,
        *,
        status: int,
        seconds: float,
        problem: str | None,
    ) -> None:
        assert seconds >= 0
        self.told.append(("answered", surface, route, method, status, problem))

    def keyed(self, result: str) -> None:
        self.told.append(("keyed", result))

    def refused(self, surface: str, cause: str, *, is_known: bool) -> None:
        self.told.append(("refused", surface, cause, is_known))

    def follows(self, n: int) -> None:
        self.told.append(("follows", n))

    def dropped(self) -> None:
        self.told.append(("dropped",))


def answer(  # noqa: PLR0913 - whatever a request may be
    status: int | None,
    *,
    path: str = "/v1/jobs/job_1/retry",
    template: str | None = "/v1/jobs/{job_id}/retry",
    problem: str | None = None,
    key: bool = False,
    headers: tuple[tuple[bytes, bytes], ...] = (),
    method: str = "POST",
) -> Told:
    """Return what is counted of one request that is answered so."""
    counts = Counts()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        assert receive
        scope["state"] = {} if problem is None else {"problem": problem}
        if template is not None:
            scope["path_template"] = template
        if status is None:
            msg = "a fault of ours"
            raise RuntimeError(msg)
        start = {"type": "http.response.start", "status": status}
        await send(start | {"headers": list(headers)})

    async def nothing(*_: object) -> Any:
        return None

    scope: Any = {
        "type": "http",
        "path": path,
        "method": method,
        "headers": [(b"idempotency-key", b"k")] if key else [],
    }
    asked = Counted(app, counts)(scope, nothing, nothing)
    if status is None:
        with pytest.raises(RuntimeError):
            asyncio.run(asked)
    else:
        asyncio.run(asked)
    return counts.told


def test_a_request_is_counted_by_template_and_never_by_path() -> None:
    told = answer(202)

    assert told == [
        ("began", "shops"),
        ("answered", "shops", "/v1/jobs/{job_id}/retry", "POST", 202, None),
    ]


@pytest.mark.parametrize(
    ("path", "surface"),
    [
        ("/v1/admin/jobs", "admin"),
        ("/v1/panel", "panel"),
        ("/v1/hooks/stars", "hooks"),
        ("/v1/administrator", "shops"),
        ("/v2/jobs", "none"),
    ],
)
def test_the_surface_is_that_of_the_path(path: str, surface: str) -> None:
    assert answer(200, path=path)[0] == ("began", surface)


def test_what_is_not_found_has_no_route_and_no_made_up_method() -> None:
    told = answer(404, template=None, problem="not_found", method="BREW")

    assert told[1] == ("answered", "shops", "none", "none", 404, "not_found")


def test_a_fault_of_ours_is_counted_as_one() -> None:
    assert answer(None)[1][4] == 500


@pytest.mark.parametrize(
    ("status", "problem", "replayed", "result"),
    [
        (202, None, False, "new"),
        (202, None, True, "replayed"),
        (409, "idempotency_key_reused", False, "mismatch"),
        (409, "idempotency_in_progress", False, "in_progress"),
        (422, "job_mutation_rejected", False, None),
    ],
)
def test_the_use_of_a_key_is_counted(
    status: int, problem: str | None, *, replayed: bool, result: str | None
) -> None:
    headers = ((b"idempotency-replayed", b"true"),) if replayed else ()

    told = answer(status, problem=problem, key=True, headers=headers)

    assert [it[1] for it in told if it[0] == "keyed"] == ([result] if result else [])


def test_who_is_not_let_in_is_counted_with_the_cause() -> None:
    unknown = answer(401, problem="unauthorized")
    denied = answer(403, problem="insufficient_scope")

    assert unknown[-1] == ("refused", "shops", "unauthorized", False)
    assert denied[-1] == ("refused", "shops", "insufficient_scope", True)
