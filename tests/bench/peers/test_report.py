"""The report compares within a round, judges targets, and hides no failure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import pytest

from bench.figures import Figure
from bench.lines import Line, Series, rotated
from bench.peers.field import Failure
from bench.peers.figures import figures, verdict
from bench.peers.lines import Quantile, Samples, at, beside, ratios, variants
from bench.peers.report import Peer, Report, markdown, write
from bench.sizes import QUICK


@dataclass
class Written:
    """A measure whose lines and samples are written down."""

    lines: Sequence[Line] = ()
    quantiles: Sequence[Quantile] = ()
    samples: Sequence[Samples] = ()
    name: str = "drain"
    rounds: Mapping[str, float] = field(default_factory=dict)

    def round(self, turn: int) -> Mapping[str, float]:
        assert turn >= 0
        return self.rounds

    def series(self) -> Series:
        return {}


RACE = Written(
    [
        *variants("drain", "drain", "jobs/s", ["counterfoil", "slow"]),
        *ratios("drain", "drain", ["counterfoil", "slow"], {"slow": "≥ 1.5"}),
    ]
)


def test_ours_is_divided_by_a_peer_of_the_same_round() -> None:
    rounds = [
        {"drain": {"counterfoil": 10.0, "slow": 5.0}},
        {"drain": {"counterfoil": 100.0, "slow": 100.0}},
        {"drain": {"counterfoil": 30.0, "slow": 10.0}},
    ]

    *_, share = figures([RACE], rounds)

    assert share.title == "counterfoil / slow"
    assert (share.low, share.value, share.high) == (1.0, 2.0, 3.0)


def test_a_round_in_which_a_peer_failed_is_left_out_of_its_figures_alone() -> None:
    rounds = [{"drain": {"counterfoil": 10.0}}, {"drain": {"counterfoil": 4.0}}]

    found = figures([RACE], rounds)

    assert [(it.title, it.value) for it in found] == [("counterfoil", 7.0)]


def test_a_quantile_is_taken_from_the_samples_of_all_rounds() -> None:
    slowest = Quantile("pick-up", "p99", "ms", at("a", 0.99), "≤ 10")
    share = Quantile("pick-up", "a / b", "×", beside("a", "b", 0.5))
    samples = [{"a": [1.0, 2.0], "b": [2.0]}, {"a": [9.0, 2.0]}]

    found = figures([Written(quantiles=[slowest, share], samples=samples)], [])

    assert [(it.low, it.value, it.high) for it in found] == [
        (2.0, 9.0, 9.0),
        (1.0, 1.0, 1.0),
    ]


@pytest.mark.parametrize(
    ("target", "value", "outcome"),
    [
        ("≥ 1.5", 1.5, "reached"),
        ("≥ 1.5", 1.49, "**missed**"),
        ("≤ 10", 9.0, "reached"),
        ("≤ 10", 11.0, "**missed**"),
        ("≥ 50,000", 49_999.0, "**missed**"),
        ("", 1.0, ""),
    ],
)
def test_a_target_is_reached_or_missed_by_the_median(
    target: str, value: float, outcome: str
) -> None:
    assert verdict(a_figure(value=value, target=target)) == outcome


def test_each_turn_begins_with_another_one() -> None:
    assert [rotated("abc", turn)[0] for turn in range(4)] == ["a", "b", "c", "a"]
    assert sorted(rotated("abc", 2)) == ["a", "b", "c"]
    assert rotated([], 3) == []


def test_who_failed_or_is_missing_stands_above_the_table() -> None:
    report = a_report(
        peers=[a_peer("pg-boss", version=""), a_peer("shy", why="it has no such door")],
        failures=[
            Failure(system="awa", measure="drain 2", turn=1, reason="3 of\n9 jobs"),
            Failure(system="dbos", measure="setup", turn=-1, reason="no tables"),
        ],
    )

    above, _, _ = markdown(report).partition("| queue |")

    assert "pg-boss is NOT INSTALLED" in above
    assert "awa FAILED in drain 2, round 2: 3 of 9 jobs" in above
    assert "dbos FAILED in setup, before the rounds: no tables" in above
    assert "it has no such door" in above


def test_a_later_round_replaces_the_files_of_an_earlier_one(tmp_path: Path) -> None:
    first = write(a_report(), tmp_path)

    second = write(a_report(figures=[a_figure(value=2.0, target="≥ 1")]), tmp_path)

    assert second == first
    assert sorted(tmp_path.iterdir()) == sorted(first)
    as_json, as_markdown = second
    kept = msgspec.json.decode(as_json.read_bytes(), type=Report)
    assert [it.value for it in kept.figures] == [2.0]
    assert "| drain | 2.00 | 1.00 | 3.00 | × | ≥ 1 | reached |" in (
        as_markdown.read_text()
    )


def a_figure(*, value: float, target: str) -> Figure:
    return Figure(
        group="drains",
        title="drain",
        unit="×",
        value=value,
        low=1.0,
        high=3.0,
        target=target,
    )


def a_peer(name: str, version: str = "1.0", why: str = "") -> Peer:
    return Peer(
        name=name, version=version, settings="few", jobs=9, without_transaction=why
    )


def a_report(
    figures: Sequence[Figure] = (),
    peers: Sequence[Peer] = (),
    failures: Sequence[Failure] = (),
) -> Report:
    return Report(
        at="2026-01-01T00:00Z",
        seconds=60.0,
        families=["peers"],
        sizes=QUICK,
        machine={},
        load_before="0 0 0",
        load_after="0 0 0",
        peers=list(peers),
        figures=list(figures),
        failures=list(failures),
        series={},
        rounds=[{}],
        samples={},
    )
