"""`jobs`, `job`, `events`, `why` as processes: for a person and as JSON."""

import pytest

from domain.jobs.outcome import Retry
from tests.api.command import Command
from tests.operators.world import GENERIC, SERVED, World, bring

pytestmark = pytest.mark.database


def test_jobs_shows_state_cause_budget_and_unknown_kinds(
    counterfoil: Command, world: World
) -> None:
    job = world.report(maxAttempts=5)
    world.end(world.claim(GENERIC), Retry(code="http_502"))
    bring(world, "discarded", SERVED)

    shown = counterfoil("jobs")
    told = counterfoil("jobs", "--kind", GENERIC, "--json")

    assert shown.code == 0
    assert f"{job}" in shown.out
    assert "waiting: after failure" in shown.out
    assert "1/5" in shown.out
    assert "1/12" in shown.out
    assert "http_502" in shown.out
    assert "no worker is alive" in shown.err
    line = told.document
    assert (line["jobId"], line["state"], line["budget"]) == (str(job), "waiting", 5)
    assert line["known"] is False
    assert "args" not in line


def test_jobs_pages_on(counterfoil: Command, world: World) -> None:
    older, newer = world.report(), world.report()

    first = counterfoil("jobs", "--limit", 1)
    second = counterfoil("jobs", "--limit", 1, "--after", newer, "--json")

    assert f"--after {newer}" in first.err
    assert [line["jobId"] for line in second.documents] == [str(older)]


def test_no_jobs_is_an_answer(counterfoil: Command) -> None:
    shown, told = counterfoil("jobs"), counterfoil("jobs", "--json")

    assert (shown.code, shown.out, shown.err) == (0, "", "no such job\n")
    assert (told.code, told.out) == (0, "")


def test_job_tells_its_story_after_success_too(
    counterfoil: Command, world: World
) -> None:
    job, _ = bring(world, "succeeded", SERVED)

    shown = counterfoil("job", job)
    told = counterfoil("job", job, "--json").document

    assert shown.code == 0
    for word in ("job.enqueued", "job.claimed", "job.succeeded", "operation_id"):
        assert word in shown.out
    assert told["state"] == "succeeded"
    assert told["args"] == ["operation_id"]
    assert [event["version"] for event in told["events"]] == [1, 2, 3]


def test_events_shows_the_log_and_pages_by_position(
    counterfoil: Command, world: World
) -> None:
    job, _ = bring(world, "discarded", GENERIC)

    shown = counterfoil("events", "--stream", job)
    first = counterfoil("events", "--after", 0, "--limit", 2, "--json").documents
    rest = counterfoil("events", "--after", first[-1]["position"], "--json").documents
    tagged = counterfoil("events", "--type", "job.discarded", "--json").document

    assert shown.out.count("\n") == 4
    assert [event["type"] for event in (*first, *rest)] == world.tags(job)
    assert tagged["streamId"] == str(job)
    assert tagged["meta"]["actor"]["type"] == "worker"


def test_why_tells_what_happened_and_what_happens_next(
    counterfoil: Command, world: World
) -> None:
    job, operation = bring(world, "parked", SERVED)

    shown = counterfoil("why", "shop:1")
    told = counterfoil("why", operation, "--json").document

    assert shown.code == 0
    for word in ("order.paid", "fulfillment.attempt_started", "What happens next"):
        assert word in shown.out
    assert "parked because panel_credentials" in shown.out
    assert "no worker is alive" in shown.out
    assert told["kind"] == "operation"
    assert [line["jobId"] for line in told["jobs"]] == [str(job)]
    assert any("parked because panel_credentials" in each for each in told["next"])


def test_why_of_a_dead_letter_names_the_command_that_revives_it(
    counterfoil: Command, world: World
) -> None:
    job, _ = bring(world, "discarded", SERVED)

    shown = counterfoil("why", job)

    assert f"counterfoil retry {job} --reason" in shown.out


def test_why_of_something_done_says_that_nothing_happens_next(
    counterfoil: Command, world: World
) -> None:
    job, _ = bring(world, "succeeded", GENERIC)

    assert counterfoil("why", job).out.endswith("nothing: everything is done\n")


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (("job", "01a229d7-fb57-790b-948f-7284b737919a"), 1, "there is no job"),
        (("job", "cdnow:17"), 2, "not a valid UUID"),
        (("job",), 2, "Missing argument 'ID'"),
        (("why", "nothing"), 1, "nothing of tenant default"),
        (("why", "shop:1", "--tenant", "other"), 1, "of tenant other"),
        (("events", "--after", "-1"), 2, "--after"),
        (("events", "--limit", "0"), 2, "--limit"),
        (("jobs", "--state", "sleeping"), 2, "'parked'"),
        (("jobs", "--after", "x"), 2, "--after"),
        (("bogus",), 2, "No such command 'bogus'"),
    ],
)
def test_a_mistake_is_one_sentence(
    counterfoil: Command, arguments: tuple[str, ...], code: int, told: str
) -> None:
    result = counterfoil(*arguments)

    assert result.code == code
    assert told in result.complaint()
