"""Families keep to their bounds, and count as prometheus-client itself does."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, Histogram, generate_latest

from infrastructure.sampling.gauge import Labels, Sampled, within
from infrastructure.sampling.gauges import DECLARED
from infrastructure.sampling.sample import Standing
from infrastructure.telemetry.metrics.families import (
    MOST_SERIES,
    OTHER,
    QUICK,
    RUNS,
    SIZES,
    WAITS,
    Families,
)
from infrastructure.telemetry.metrics.meter import Metrics
from tests.metrics.scrape import Scrape

durations = st.lists(st.floats(0, 5_000, allow_nan=False), max_size=30)


def scraped(registry: CollectorRegistry) -> Scrape:
    return Scrape(generate_latest(registry).decode())


@given(durations, st.sampled_from([QUICK, RUNS, WAITS, SIZES]))
def test_a_batch_is_counted_as_one_by_one(
    values: list[float], bounds: Sequence[float]
) -> None:
    ours, theirs = CollectorRegistry(), CollectorRegistry()
    spread = Families(ours).histogram("a_seconds", "A.", "queue", bounds=tuple(bounds))
    known = Histogram(
        "counterfoil_a_seconds", "A.", ["queue"], buckets=bounds, registry=theirs
    )

    spread.add(values, "bulk")
    known.labels("bulk")
    for value in values:
        known.labels("bulk").observe(value)

    assert buckets(generate_latest(ours)) == buckets(generate_latest(theirs))


def buckets(text: bytes) -> list[bytes]:
    lines = text.splitlines()
    return sorted(it for it in lines if b"_bucket" in it or b"_count" in it)


def test_labels_beyond_the_bound_are_counted_together() -> None:
    registry = CollectorRegistry()
    counter = Families(registry).counter("a_total", "A.", "kind", "code", most=2)

    for n in range(5):
        counter.add(f"kind {n}", "code")
    counter.add("kind 0", "code")

    scrape = scraped(registry)
    assert scrape("a_total", kind="kind 0", code="code") == 2
    assert scrape("a_total", kind="kind 1", code="code") == 1
    assert scrape("a_total", kind=OTHER, code=OTHER) == 3


def test_a_process_never_has_more_than_ten_thousand_series() -> None:
    families = Metrics(version="1", schema="1").families
    Standing(families, dict)

    assert sum(families.declared.values()) <= MOST_SERIES


def test_names_follow_the_rules_of_prometheus() -> None:
    families = Metrics(version="1", schema="1").families

    units = ("_seconds", "_total", "_ratio", "_info", "_size")
    plain = {name for name in families.declared if not name.endswith(units)}
    assert plain == {
        f"counterfoil_{it}"
        for it in ("leader", "http_requests_in_flight", "sse_clients")
    }
    assert {it.name for it in DECLARED if it.name.endswith("_total")} == set()


def test_many_labels_hide_neither_a_queue_that_all_serve_nor_the_highest() -> None:
    ages: dict[Labels, float] = {("bulk",): 0.0}
    ages.update({(f"queue {n:03}",): float(n) for n in range(100)})
    counts = Sampled("jobs", "Jobs.", ("queue",), most=3)
    oldest = Sampled("age_seconds", "Ages.", ("queue",), most=3, merge=max)

    assert within(oldest, ages) == {
        ("bulk",): 0.0,
        ("queue 099",): 99.0,
        ("queue 098",): 98.0,
        (OTHER,): 97.0,
    }
    assert within(counts, ages)[(OTHER,)] == sum(range(98))
    few: dict[Labels, float] = {("a",): 1.0, ("b",): 2.0}
    assert within(counts, few) == few
