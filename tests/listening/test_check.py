"""A check is bounded, its answer is kept for a moment, and it is asked once."""

import threading

from infrastructure.listening.check import Check, Flaw
from infrastructure.telemetry import listen
from tests.fixtures.workers import Events


class Clock:
    def __init__(self) -> None:
        self.at = 0.0

    def __call__(self) -> float:
        return self.at


class Look:
    def __init__(self, *answers: Flaw | None) -> None:
        self.answers = list(answers)
        self.asked = 0

    def __call__(self) -> Flaw | None:
        self.asked += 1
        return self.answers.pop(0)


def test_an_answer_is_kept_for_two_seconds() -> None:
    clock, look = Clock(), Look(None, Flaw.UNAVAILABLE)
    check = Check("database", look, clock=clock)

    first = check()
    clock.at += 1.9
    kept = check()
    clock.at += 0.2
    later = check()

    assert (first, kept, later) == (None, None, Flaw.UNAVAILABLE)
    assert look.asked == 2


def test_a_check_that_does_not_answer_is_a_timeout_and_not_asked_again() -> None:
    free = threading.Event()
    asked: list[int] = []

    def look() -> None:
        asked.append(1)
        free.wait()

    check = Check("database", look, bound_seconds=0.05)

    first, second = check(), check()
    free.set()

    assert (first, second) == (Flaw.TIMEOUT, Flaw.TIMEOUT)
    assert len(asked) == 1


def test_a_check_that_raises_is_unavailable_and_told_without_its_words() -> None:
    events = Events()

    def look() -> None:
        msg = "password=secret"
        raise RuntimeError(msg)

    with listen(events.add):
        flaw = Check("database", look)()

    assert flaw is Flaw.UNAVAILABLE
    (told,) = events.of("check failed")
    assert told["check"] == "database"
    assert told["error"].startswith("RuntimeError at test_check.py:")


def test_whoever_asks_meanwhile_gets_the_same_answer() -> None:
    free, answers = threading.Event(), []
    asked: list[int] = []

    def look() -> Flaw | None:
        asked.append(1)
        free.wait()
        return Flaw.UNAVAILABLE

    check = Check("database", look)
    threads = [
        threading.Thread(target=lambda: answers.append(check())) for _ in range(5)
    ]
    for thread in threads:
        thread.start()
    free.set()
    for thread in threads:
        thread.join()

    assert answers == [Flaw.UNAVAILABLE] * 5
    assert len(asked) == 1
