"""Windows of maintenance in a person's words."""

from datetime import datetime

from api.cli.output import aside, say
from api.cli.times import at, distance
from application.operators.maintenance import Maintained, Standing
from domain.maintenance.gates import ALL, GOODS
from projections.maintenance import MaintenancePage, WindowLine


def show(page: MaintenancePage) -> None:
    """Write what is closed now."""
    if not page.windows:
        say("no maintenance: every gate is open")
    for window in page.windows:
        say(*_window(window, page.now))
    _show_held(page)


def _show_held(page: MaintenancePage) -> None:
    one = page.held_jobs == 1
    jobs = f"{page.held_jobs} {'job' if one else 'jobs'}"
    if page.windows:
        say(f"{jobs} {'waits' if one else 'wait'} for the end of maintenance")
    elif page.held_jobs:
        say(f"{jobs} that waited {'is' if one else 'are'} about to be made due")
        if page.live_workers == 0:
            aside("no worker is alive: nothing is made due until one is", "yellow")


def _window(window: WindowLine, now: datetime) -> list[str]:
    since = f"since {at(window.opened_at)}, {distance(window.opened_at, now)}"
    return [
        f"{named(window.scope)} is closed {since}, by {window.opened_by}",
        f"    why: {window.reason}",
        f"    return: {_return(window.expected_return, now)}",
        f"    ru: {_one_line(window.notice_ru)}",
        f"    en: {_one_line(window.notice_en)}",
        f"    window: {window.window_id}",
    ]


def _return(expected: datetime | None, now: datetime) -> str:
    if expected is None:
        return "not said"
    told = f"expected {at(expected)}, {distance(expected, now)}"
    return told if expected > now else f"{told}; it is overdue"


def _one_line(notice: str) -> str:
    return " / ".join(line for line in notice.splitlines() if line.strip())


def named(scope: str) -> str:
    """Return what a scope closes, as the subject of a sentence."""
    if scope.startswith(GOODS):
        return f"provider {scope.removeprefix(GOODS)}"
    return "every gate" if scope == ALL else f"the {scope}"


def tell_opened(maintained: Maintained) -> None:
    """Write what opening a window has done."""
    scope, window = maintained.scope, maintained.window_id
    if maintained.events:
        say(f"{named(scope)} is closed for maintenance: window {window}")
    else:
        mine = [each for each in maintained.windows if each.window_id == window]
        say("nothing to do: it is so already", *map(_standing, mine))


def tell_closed(maintained: Maintained) -> None:
    """Write what closing a window has done, and what stays closed."""
    scope, windows = maintained.scope, maintained.windows
    if maintained.events:
        say(f"the window is over: {maintained.window_id}")
    else:
        say(f"nothing to do: no window of scope {scope} is open")
    if windows:
        say(*map(_standing, windows))
    elif maintained.events:
        say("every gate is open: what has waited goes on within a minute")


def _standing(window: Standing) -> str:
    since = at(window.opened_at)
    return f"{named(window.scope)} stays closed: since {since}, by {window.opened_by}"
