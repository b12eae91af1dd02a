"""Projections in a person's words."""

from collections.abc import Sequence

from rich.text import Text

from api.cli.output import aside, say, show_rows
from api.cli.times import at, distance
from application.operators.projections import Switched
from projections.queries.projections import (
    ProjectionLine,
    ProjectionPage,
    SetAside,
)

_STYLES = {
    "following": "green",
    "unowned": "yellow",
    "outdated": "bold red",
    "ahead": "bold red",
}


_MIGRATE = "run `counterfoil migrate`, or `projections rebuild` says what to insert"


def show_projections(page: ProjectionPage) -> None:
    """Write all projections, and what is the matter with any."""
    names = ("projection", "state", "lag", "position", "led by", "set aside")
    show_rows(names, [_row(line) for line in page.projections])
    _show_feed(page)


def _row(line: ProjectionLine) -> list[Text]:
    owner = line.owner
    return [
        Text(line.name),
        Text(_state(line), _STYLES.get(line.state, "yellow")),
        Text(_lag(line)),
        Text(str(line.position)),
        Text("" if owner is None else f"{owner.host} {owner.pid}"),
        Text(str(line.set_aside or ""), "bold red"),
    ]


def _state(line: ProjectionLine) -> str:
    told = line.state
    if line.build is not None:
        told += f", {line.build.what} at {line.build.ratio:.0%}"
    return told


def _lag(line: ProjectionLine) -> str:
    if not line.lag_positions:
        return "none"
    return f"{line.lag_positions} positions, {line.lag_seconds:.1f} s"


def _show_feed(page: ProjectionPage) -> None:
    say(f"the log ends at {page.last}")
    if page.horizon < page.last:
        told = f"{page.last - page.horizon} positions wait for open transactions"
        aside(f"{told}; `counterfoil projections holders` names them", "yellow")
    if any(line.state == "unowned" for line in page.projections):
        aside("unowned: start a worker, or wait 15 s after one has died", "yellow")
    for line in page.projections:
        if line.state in ("outdated", "ahead"):
            word = "`counterfoil projections rebuild"
            aside(f"{line.name} is {line.state}: {word} {line.name}`", "yellow")
    for name in page.absent:
        aside(f"{name} is absent: the database has no row for it; {_MIGRATE}", "yellow")


def show_one(
    page: ProjectionPage, line: ProjectionLine, set_aside: Sequence[SetAside]
) -> None:
    """Write one projection, and the first events that it has set aside."""
    say(f"{line.name}: {_state(line)}; lag: {_lag(line)}")
    table = f"counterfoil.read_{line.name}_{line.slot}"
    say(f"    rows: {table}, at position {line.position} of {page.last}")
    if line.owner is not None:
        say(f"    led by: process {line.owner.pid} of {line.owner.host}")
    if line.paused is not None:
        since = f"since {at(line.paused.at)}, {distance(line.paused.at, page.now)}"
        say(
            f"    paused: {since}, by {line.paused.by}",
            f"    why: {line.paused.reason}",
        )
    if line.state == "outdated":
        folded, here = line.schema_number, line.expected_schema
        say(f"    folded by schema {folded}, this version folds {here}: rebuild it")
    if line.build is not None:
        _show_build(page, line)
    if set_aside:
        _show_set_aside(line, set_aside)


def _show_build(page: ProjectionPage, line: ProjectionLine) -> None:
    build = line.build
    if build is None:
        return
    since = f"since {at(build.began_at)}, {distance(build.began_at, page.now)}"
    by = build.builder
    who = "by nobody: run it again" if by is None else f"by {by.pid} of {by.host}"
    say(f"    {build.what}: at position {build.position}, {since}, {who}")


def _show_set_aside(line: ProjectionLine, set_aside: Sequence[SetAside]) -> None:
    many = _plural(line.set_aside, "event")
    say(f"set aside: {many}; the first {len(set_aside)}:")
    names = ("position", "event", "of stream", "version", "why")
    show_rows(
        names,
        [
            [
                Text(str(each.position)),
                Text(each.type),
                Text(str(each.stream_id)),
                Text(str(each.version)),
                Text(each.reason),
            ]
            for each in set_aside
        ],
    )
    aside(f"tried again by `counterfoil projections resume {line.name}`", "yellow")


def tell_paused(switched: Switched) -> None:
    """Write what a pause has done."""
    if not switched.events:
        say("nothing to do: it is so already", *_since(switched))
    else:
        say(f"{switched.projection} is paused: its rows stay as they are")


def _since(switched: Switched) -> list[str]:
    pause = switched.pause
    return [] if pause is None else [f"paused since {at(pause.at)}, by {pause.by}"]


def tell_resumed(switched: Switched) -> None:
    """Write what a resumption has done."""
    if not switched.events:
        say("nothing to do: it is not paused, and nothing is set aside")
        return
    say(f"{switched.projection} follows the log")
    retried = switched.retried
    if retried is None:
        return
    if not retried.left:
        say(f"tried again and folded: {_plural(retried.tried, 'event')}")
        return
    which = f"`counterfoil projections list {switched.projection}` says why"
    aside(f"still set aside: {_plural(retried.left, 'event')}; {which}", "yellow")


def _plural(n: int, noun: str) -> str:
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"
