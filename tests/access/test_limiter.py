"""Requests are counted by whoever asks, in this process."""

from concurrent.futures import ThreadPoolExecutor

from domain.access.rates import Policy
from infrastructure.access.limiter import LocalLimiter

TWO_A_MINUTE = (Policy("burst", 2, 60),)


class Clock:
    """Stands still until it is moved."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_partitions_do_not_see_each_other() -> None:
    limiter = LocalLimiter(TWO_A_MINUTE, clock=Clock())
    while limiter.take("first").is_allowed:
        pass

    assert limiter.take("second").is_allowed
    assert not limiter.take("first").is_allowed


def test_time_gives_back_what_was_taken() -> None:
    clock = Clock()
    limiter = LocalLimiter(TWO_A_MINUTE, clock=clock)
    while (refused := limiter.take("token")).is_allowed:
        pass

    clock.now += refused.retry_after_seconds

    assert limiter.take("token").is_allowed


def test_whoever_asked_longest_ago_is_forgotten_first() -> None:
    limiter = LocalLimiter(TWO_A_MINUTE, most=2, clock=Clock())
    for partition in ("first", "first", "second", "third"):
        limiter.take(partition)

    assert limiter.take("first").is_allowed
    assert limiter.take("third").left[0].remaining == 0


def test_threads_together_get_no_more_than_the_quota() -> None:
    limiter = LocalLimiter((Policy("burst", 50, 1_000_000),))

    with ThreadPoolExecutor(8) as threads:
        allowed = list(
            threads.map(lambda _: limiter.take("token").is_allowed, range(400))
        )

    assert sum(allowed) == 50
