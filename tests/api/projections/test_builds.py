"""`projections rebuild` and `projections verify` as a person calls them."""

import pytest

from tests.api.command import Command
from tests.fixtures.database import TestDatabase
from tests.fixtures.workers import enqueue

pytestmark = pytest.mark.database


def test_a_rebuilt_read_model_is_right_and_one_that_was_spoilt_is_found(
    counterfoil: Command, database: TestDatabase
) -> None:
    job = enqueue(database.connect(), "noop")

    rebuilt = counterfoil("projections", "rebuild", "jobs", "--json")
    database.connect().execute("UPDATE counterfoil.read_jobs_b SET kind = 'secret'")
    verified = counterfoil("projections", "verify", "jobs")

    assert (rebuilt.code, rebuilt.err) == (0, "")
    assert rebuilt.document["began"] == "anew"
    assert rebuilt.document["events"] == rebuilt.document["position"] == 1
    assert verified.code == 1
    assert "jobs DIFFERS from a fold of the log at position 1 (1 rows)" in verified.out
    assert f"stream_id {job} differs in kind" in verified.out
    assert "secret" not in verified.out + verified.err


@pytest.mark.parametrize("verb", ["rebuild", "verify"])
def test_who_names_none_is_told_which_there_are(
    counterfoil: Command, verb: str
) -> None:
    neither = counterfoil("projections", verb)
    unknown = counterfoil("projections", verb, "orderz")

    assert (neither.code, unknown.code) == (2, 1)
    assert "name a projection, or say --all; there are jobs" in neither.complaint()
    assert unknown.complaint() == "there is no projection orderz"
