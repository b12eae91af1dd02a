"""Capacity: what may be claimed, and which waiting job a free thread takes."""

import threading
from typing import Any

from domain.jobs.outcome import Completed
from infrastructure.processor.leases import Held
from infrastructure.processor.slots import LEAST_PREFETCH, PREFETCH, Slots
from tests.fixtures.workers import kind
from tests.processor.claims import claimed

BUFFERED = kind("buffered", lambda _args, _ctx: Completed())
ASKING = kind("asking", lambda _args, _ctx: Completed(), asks_provider=True)


def held(made: Any = BUFFERED, queue: str = "q") -> Held:  # noqa: ANN401 - a kind of any arguments
    job = claimed(kind=made.name, queue=queue)
    return Held(job=job, kind=made, lease_ends_at=1e12)


class Taking:
    """A thread that asks for a job."""

    def __init__(self, slots: Slots, queue: str = "q") -> None:
        self.got: list[Held | None] = []
        self._thread = threading.Thread(
            target=lambda: self.got.append(slots.take(queue)), daemon=True
        )
        self._thread.start()

    def has_to_wait(self) -> bool:
        """Whether it has got nothing for a moment."""
        self._thread.join(0.2)
        return not self.got

    def job(self) -> Held | None:
        """Return what it gets."""
        self._thread.join(30)
        return self.got[0]


def test_slots_are_reserved_before_a_claim_and_given_back_after_it() -> None:
    slots = Slots({"q": 3}, None)

    assert slots.reserve("q") == 3
    assert slots.reserve("q") == 0
    slots.unreserve("q")
    assert slots.reserve("q") == 3


def test_no_buffered_job_takes_a_slot_that_a_claim_has_reserved() -> None:
    slots = Slots({"q": 1}, None)
    assert slots.reserve("q") == 1
    slots.put([held()])
    thread = Taking(slots)
    assert thread.has_to_wait()

    slots.unreserve("q")
    assert thread.job() is not None


def test_jobs_that_ask_a_provider_go_first() -> None:
    slots = Slots({"q": 2}, None)
    slots.reserve("q")
    asking = held(ASKING)
    slots.put([held(), asking])
    slots.unreserve("q")

    assert Taking(slots).job() is asking


def test_i13_a_slot_is_kept_for_those_that_asked_in_vain() -> None:
    slots = Slots({"q": 1}, None)
    slots.put([held(), held()])
    assert Taking(slots).job() is not None
    assert slots.reserve("q") == 0  # every slot runs a buffered job

    slots.give_back("q", held())
    assert Taking(slots).has_to_wait()
    assert slots.reserve("q") == 1


def test_i13_a_slot_is_kept_also_below_the_cap_of_the_process() -> None:
    slots = Slots({"q": 4, "other": 4}, 1)
    slots.put([held(), held()])
    assert Taking(slots).job() is not None
    assert slots.reserve("other") == 0

    slots.give_back("q", held())
    thread = Taking(slots)
    assert thread.has_to_wait()
    assert slots.reserve("other") == 1
    slots.unreserve("other")  # nothing was due after all
    assert thread.job() is not None


class Clock:
    """Seconds that the test moves."""

    def __init__(self) -> None:
        self.at = 100.0

    def __call__(self) -> float:
        return self.at


def fill(slots: Slots) -> int:
    """Claim what there is room for; return how many that were."""
    n = slots.room("q")
    slots.put([held() for _ in range(n)])
    return n


def run_all(slots: Slots, jobs: int) -> None:
    for _ in range(jobs):
        assert slots.take("q") is not None
        slots.give_back("q", held())


def test_the_buffer_is_bounded() -> None:
    slots = Slots({"q": 1}, None)

    assert fill(slots) == LEAST_PREFETCH
    assert slots.room("q") == 0


def test_the_buffer_grows_while_its_jobs_are_run_at_once() -> None:
    clock = Clock()
    slots = Slots({"q": 1}, None, clock)
    sizes = [0]
    while len(sizes) < 10:
        sizes.append(fill(slots))
        clock.at += 0.1
        run_all(slots, sizes[-1])

    assert sizes[1:4] == [LEAST_PREFETCH, 2 * LEAST_PREFETCH, 4 * LEAST_PREFETCH]
    assert sizes[-2:] == [PREFETCH, PREFETCH]


def test_the_buffer_does_not_grow_when_its_jobs_took_their_time() -> None:
    clock = Clock()
    slots = Slots({"q": 1}, None, clock)
    run_all(slots, fill(slots))
    clock.at += 0.5

    assert slots.room("q") == LEAST_PREFETCH


def test_i13_the_buffer_shrinks_while_jobs_wait_that_others_could_run() -> None:
    clock = Clock()
    slots = Slots({"q": 1}, None, clock)
    for _ in range(3):
        run_all(slots, fill(slots))
    assert fill(slots) == 8 * LEAST_PREFETCH

    clock.at += 2
    assert slots.room("q") == 0  # they are still there
    run_all(slots, 6 * LEAST_PREFETCH + 1)

    assert slots.room("q") == 2 * LEAST_PREFETCH + 1


def test_i13_what_waits_beyond_a_buffer_that_shrank_is_given_up_last_come_first() -> (
    None
):
    clock = Clock()
    slots = Slots({"q": 1}, None, clock)
    for _ in range(3):
        run_all(slots, fill(slots))
    slots.put(jobs := [held() for _ in range(slots.room("q"))])
    assert slots.surplus() == []

    clock.at += 2
    slots.room("q")

    assert slots.surplus() == jobs[: len(jobs) // 2 - 1 : -1]
    assert slots.surplus() == []


def test_a_buffer_forgets_how_fast_its_queue_was_once_it_is_not_full_any_more() -> None:
    clock = Clock()
    slots = Slots({"q": 1}, None, clock)
    for _ in range(3):
        run_all(slots, fill(slots))

    clock.at += 3600

    assert slots.room("q") == LEAST_PREFETCH


def test_i13_slots_that_adopted_claims_took_from_another_queue_come_back() -> None:
    """Adopted claims have no reservation: there may be more jobs than slots."""
    slots = Slots({"a": 2, "b": 1}, None)
    slots.put([held(queue="a"), held(queue="a")])
    assert slots.take("a")
    assert slots.take("a")
    slots.put([held(ASKING, "a"), held(ASKING, "a"), held(queue="b")])
    thread = Taking(slots, "b")
    assert thread.has_to_wait()

    for _ in range(2):
        slots.give_back("a", held())
        assert slots.take("a")
    slots.give_back("a", held())

    assert thread.job() is not None


def test_a_buffer_holds_at_least_a_job_for_each_thread() -> None:
    assert Slots({"q": 200}, None).room("q") == 200


def test_closing_returns_what_no_thread_has_taken_and_ends_the_threads() -> None:
    slots = Slots({"q": 2}, None)
    slots.put([held(), held()])
    first = Taking(slots).job()
    left = slots.close()

    assert len(left) == 1
    assert first is not None
    assert first not in left
    assert slots.take("q") is None


def test_queues_are_free_whose_next_job_would_be_run_at_once() -> None:
    slots = Slots({"q": 1, "other": 1}, None)
    assert slots.free() == ["q", "other"]

    slots.put([held()])
    assert slots.free() == ["other"]

    assert Taking(slots).job() is not None
    assert slots.free() == ["other"]
    slots.give_back("q", held())
    assert slots.free() == ["q", "other"]


def test_no_queue_is_free_in_a_process_that_runs_its_most() -> None:
    slots = Slots({"q": 1, "other": 1}, 1)
    slots.put([held()])

    assert Taking(slots).job() is not None

    assert slots.free() == []


def test_a_poke_is_kept_for_a_claimer_that_is_just_looking() -> None:
    slots = Slots({"q": 1}, None)

    slots.poke()
    slots.poke()

    slots.wait_free(600)  # it returns: what was born behind the look is looked for


def test_a_suspect_goes_first_whatever_its_kind_asks() -> None:
    slots = Slots({"q": 1}, None)
    suspect = held()
    suspect.is_alone = True
    slots.put([held(), suspect])

    assert Taking(slots).job() is suspect


def test_a_slot_is_occupied_until_its_handler_returns_whatever_ended_the_run() -> None:
    slots = Slots({"q": 1}, None)
    slots.put([first := held(), held()])
    assert slots.take("q") is first
    assert slots.lingering() == []

    assert first.end()  # its hard deadline has passed

    assert slots.lingering() == [first.job.id]
    thread = Taking(slots)
    assert thread.has_to_wait()
    assert slots.free() == []
    first.has_returned = True
    assert slots.lingering() == []
    slots.give_back("q", first)
    assert thread.job() is not None
