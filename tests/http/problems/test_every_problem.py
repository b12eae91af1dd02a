"""Every problem is brought about over HTTP: what nothing brings about, is none."""

from pathlib import Path
from typing import Any, Final

import pytest

from api.http.app import described
from api.http.problems.catalogue import ALIASES, PROBLEMS
from api.http.problems.render import MEDIA_TYPE
from tests.fixtures.database import TestDatabase
from tests.http.problems import requests, states
from tests.http.problems.stage import STORIES, staged

pytestmark = pytest.mark.database

_ = (requests, states)  # which tell the stories
CONTRACT: Final = described()


def test_every_problem_has_a_story_and_every_story_is_of_one() -> None:
    silent, unknown = PROBLEMS.keys() - STORIES, STORIES.keys() - PROBLEMS

    assert not silent, (
        f"nobody shows how {sorted(silent)} come about: tell a story in "
        "tests/http/problems, or take what nothing provokes out of the catalogue"
    )
    assert not unknown, f"there are no such problems any more: {sorted(unknown)}"
    assert set(ALIASES.values()) <= PROBLEMS.keys()
    assert not ALIASES.keys() & PROBLEMS.keys()


def test_every_story_ends_with_its_problem(
    database: TestDatabase, tmp_path: Path
) -> None:
    told: list[str] = []
    with staged(database, tmp_path) as stage:
        for code, story in STORIES.items():
            answer = story(stage)
            problem = answer.json()
            kind = PROBLEMS[code]
            said = problem.get("code"), answer.status_code, problem.get("status")
            if said != (code, kind.status, kind.status):
                told.append(f"{code}: {answer.status_code} {answer.text[:300]}")
                continue
            assert answer.headers["content-type"] == MEDIA_TYPE, code
            assert problem["type"] == kind.uri, code
            assert problem["retryable"] is kind.is_retryable, code
            assert ("retry-after" in answer.headers) is kind.is_retryable, code

    assert not told, "\n".join(told)


def test_every_problem_but_those_of_the_router_is_in_the_contract() -> None:
    named = {
        code
        for methods in CONTRACT["paths"].values()
        for operation in methods.values()
        for answer in operation["responses"].values()
        for content in _resolved(answer).get("content", {}).values()
        for code in content.get("examples", {})
    }

    assert PROBLEMS.keys() - named == {"method_not_allowed"}


def _resolved(answer: dict[str, Any]) -> dict[str, Any]:
    """Return what a reference refers to, or what is no reference."""
    found: dict[str, Any] = CONTRACT if "$ref" in answer else answer
    for step in answer.get("$ref", "#/").split("/")[1:]:
        found = found[step] if step else found
    return found
