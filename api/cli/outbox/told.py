"""What waits to be published, in a person's words."""

from typing import Final

from rich.text import Text

from api.cli.output import aside, say, show_rows
from api.cli.times import at, lasting
from projections.queries.outbox.lag import Backlog
from projections.queries.outbox.series import Series

_LATE_SECONDS: Final = 60.0
"""Of what waits longer an operator is told by an alarm."""


def show(backlog: Backlog) -> None:
    """Write what waits now."""
    shown = [each for each in backlog.topics if each.recorded_count > 0]
    if shown:
        show_rows(
            ("topic", "waiting", "oldest", "recorded", "last recorded"),
            [
                (
                    Text(each.topic),
                    Text(f"{each.pending_count:,}"),
                    _age(each.oldest_age_seconds),
                    Text(f"{each.recorded_count:,}"),
                    Text(
                        ""
                        if each.last_recorded_at is None
                        else at(each.last_recorded_at)
                    ),
                )
                for each in shown
            ],
        )
    say(_sentence(backlog))
    _tell_short(backlog.relation)


def _sentence(backlog: Backlog) -> str:
    waiting, age = backlog.pending_count, backlog.oldest_age_seconds
    if age is None:
        return "nothing waits to be published"
    one = waiting == 1
    told = f"{waiting:,} {'message waits' if one else 'messages wait'} to be published"
    return f"{told}, {'for' if one else 'the oldest for'} {lasting(age)}"


def show_series(series: Series) -> None:
    """Write what was recorded over time."""
    if not series.points:
        aside(f"no message was recorded since {at(series.since)}")
        return
    show_rows(
        (f"{series.step} from", "topic", "recorded", "waiting", "longest wait"),
        [
            (
                Text(at(point.begins_at)),
                Text(point.topic),
                Text(f"{point.recorded_count:,}"),
                Text(f"{point.pending_count:,}"),
                _age(point.longest_wait_seconds),
            )
            for point in series.points
        ],
    )
    _tell_short(series.relation)


def _age(seconds: float | None) -> Text:
    if seconds is None:
        return Text("")
    return Text(lasting(seconds), "red" if seconds > _LATE_SECONDS else "")


def _tell_short(relation: str) -> None:
    if relation != "eq":
        aside(
            "at least so many: the projection outbox_lag is far behind; "
            "`counterfoil projections list` tells how far",
            "yellow",
        )
