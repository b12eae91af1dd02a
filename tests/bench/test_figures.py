"""Figures say what was measured: medians over rounds, ratios within them."""

from bench.figures import Figure, figures, quantile

ROUND = {
    "drain": {"worker": 10.0, "floor_1": 20.0, "floor_2": 16.0},
    "single": dict.fromkeys(
        ("own", "rows", "enqueue", "client", "settle", "rows_step", "enqueue_step",
         "client_step", "settle_step"), 2.0),
    "bulk": {"enqueue": 3.0, "client": 2.0, "rows": 6.0},
    "fulfillment": {"orders": 50.0},
}  # fmt: skip
SAMPLES = {
    "polling_busy": [1.0, 2.0, 3.0],
    "polling_idle": [30.0],
    "listening_busy": [1.0, 1.5],
    "listening_idle": [1.2],
}


def test_a_ratio_is_taken_within_its_round_and_against_the_faster_floor() -> None:
    slow_round = ROUND | {"drain": {"worker": 1.0, "floor_1": 1.0, "floor_2": 4.0}}

    figure = the("worker / faster floor", [ROUND, slow_round, slow_round])

    assert (figure.low, figure.value, figure.high) == (0.25, 0.25, 0.5)


def test_a_figure_is_the_median_of_the_rounds_between_the_extremes() -> None:
    rounds = [ROUND | {"fulfillment": {"orders": n}} for n in (70.0, 10.0, 30.0)]

    figure = the("two worker processes", rounds)

    assert (figure.low, figure.value, figure.high) == (10.0, 30.0, 70.0)


def test_a_latency_is_a_quantile_over_the_samples_of_all_rounds() -> None:
    figure = the("polls, worked within a second, p50 of 6", [ROUND, ROUND])

    assert figure.value == 2.0


def test_a_quantile_is_one_of_the_samples() -> None:
    assert quantile(range(100), 0.99) == 99
    assert quantile([5.0], 0.5) == 5.0


def the(title: str, rounds: list[dict[str, dict[str, float]]]) -> Figure:
    found = [it for it in figures(rounds, [SAMPLES] * len(rounds)) if it.title == title]
    assert len(found) == 1
    return found[0]
