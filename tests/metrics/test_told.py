"""The documentation names every family, and no other."""

import re
from pathlib import Path

from infrastructure.sampling.sample import Standing
from infrastructure.telemetry.metrics.families import PREFIX
from infrastructure.telemetry.metrics.meter import Metrics

PAGE = (Path(__file__).parents[2] / "docs" / "metrics.md").read_text()
METRICS = PAGE.partition("## Metrics")[2].partition("## Doctor")[0]
TABLES, _, ALERTS = METRICS.partition("## Alerts")


def declared() -> set[str]:
    families = Metrics(version="1", schema="1").families
    Standing(families, dict)
    return set(families.declared)


def test_every_family_is_told_by_its_name() -> None:
    rows = (line for line in TABLES.splitlines() if line.startswith("| `"))
    told = {name for row in rows for name in re.findall(r"`(\w+)`", row.split("|")[1])}

    assert {PREFIX + name for name in told} == declared()


def test_no_alert_names_a_family_that_is_not_there() -> None:
    named = {
        re.sub(r"_bucket$", "", name) for name in re.findall(rf"{PREFIX}\w+", ALERTS)
    }

    assert named
    assert named <= declared()
