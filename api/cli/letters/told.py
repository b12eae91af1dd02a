"""Dead letters as a person reads them, and as a program does."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final

import msgspec
from rich.text import Text

from api.cli.letters.advice import (
    commands,
    first,
    held_back,
    note,
    resuming,
    verb,
    verbs,
)
from api.cli.output import aside, say, show_rows, tell_as_of
from api.cli.times import distance
from projections.queries.letters.groups import Cause, Causes
from projections.queries.letters.listing import EndedLine, Letter
from projections.queries.letters.set_aside import PROJECTION, SetAside
from projections.queries.page import Count, Page
from projections.read_models.dead_letters import BUYER

_CAUSES: Final = (
    "kind",
    "code",
    "letters",
    "met",
    "oldest",
    "newest",
    "sample",
    "next",
)
_LETTERS: Final = ("letter", "kind", "code", "attempt", "died", "met", "note", "next")
_ENDED: Final = ("letter", "kind", "code", "ended", "how", "by", "met")


def show_causes(causes: Causes, streams: Sequence[SetAside]) -> None:
    """Write the groups, and what comes next for each code."""
    now = causes.as_of.at
    rows = [_cause(each, now) for each in causes.causes]
    rows += [_aside_group(name, of, now) for name, of in _by_projection(streams)]
    if not rows:
        aside("no dead letters")
        tell_as_of(causes.as_of)
        return
    show_rows(_CAUSES, rows)
    say("", "What to do first")
    for kind, code in dict.fromkeys(_heading(each) for each in causes.causes):
        say(f"{code}: {first(kind, code)}")
    for name, _ in _by_projection(streams):
        say(f"{name}: `counterfoil projections list` tells what was wrong")
    say(
        "",
        "Look at them with `counterfoil dead-letters --list` or `counterfoil history "
        "ID`;",
        'then `counterfoil retry ID --reason "…"`, or cancel an operation instead.',
    )
    if causes.has_more:
        aside("there are more causes than are looked at: give --kind and --list")
    tell_as_of(causes.as_of)


def _heading(cause: Cause) -> tuple[str, str]:
    """Return what decides about the advice: of goods the kind does, else the code."""
    return (cause.kind if cause.kind == BUYER else "", cause.code)


def _cause(cause: Cause, now: datetime) -> list[Text]:
    return [
        Text(cause.kind),
        Text(cause.code, style="red"),
        Text(_count(cause.count)),
        Text(cause.error_code or ""),
        Text(distance(cause.oldest, now)),
        Text(distance(cause.newest, now)),
        Text(str(cause.sample)),
        Text(verbs(cause.sample_kind)),
    ]


def _count(count: Count) -> str:
    return f"{count.value}" if count.relation == "eq" else f"{count.value} or more"


type _Groups = list[tuple[str, list[SetAside]]]


def _by_projection(streams: Iterable[SetAside]) -> _Groups:
    groups: dict[str, list[SetAside]] = {}
    for stream in streams:
        groups.setdefault(stream.projection, []).append(stream)
    return sorted(groups.items())


def _aside_group(name: str, of: Sequence[SetAside], now: datetime) -> list[Text]:
    died = [each.died_at for each in of]
    return [
        Text(PROJECTION),
        Text(name, style="red"),
        Text(str(len(of))),
        Text(""),
        Text(distance(min(died), now)),
        Text(distance(max(died), now)),
        Text(str(of[0].stream_id)),
        Text("projections resume"),
    ]


def show_letters(page: Page[Letter], streams: Sequence[SetAside]) -> None:
    """Write one page of letters, those of projections first."""
    now = page.as_of.at
    rows = [_aside(each, now) for each in streams]
    rows += [_letter(each, now) for each in page.items]
    if rows:
        show_rows(_LETTERS, rows)
    else:
        aside("no such dead letter")
    _tell_rest(page)


def _aside(stream: SetAside, now: datetime) -> list[Text]:
    return [
        Text(str(stream.stream_id)),
        Text(PROJECTION),
        Text(stream.projection, style="red"),
        Text(""),
        Text(distance(stream.died_at, now)),
        Text(""),
        Text(held_back(stream)),
        Text(f"projections resume {stream.projection}"),
    ]


def _letter(letter: Letter, now: datetime) -> list[Text]:
    return [
        Text(str(letter.stream_id)),
        Text(letter.kind),
        Text(letter.code, style="red"),
        Text(str(letter.attempt)),
        Text(distance(letter.died_at, now)),
        Text(letter.error_code or ""),
        Text(note(letter)),
        Text(", ".join(verb(command) for command in commands(letter))),
    ]


def show_ended(page: Page[EndedLine]) -> None:
    """Write one page of letters that are none any more."""
    now = page.as_of.at
    if page.items:
        show_rows(_ENDED, [_ended(each, now) for each in page.items])
    else:
        aside("nobody has ended a dead letter")
    _tell_rest(page)


def _ended(line: EndedLine, now: datetime) -> list[Text]:
    return [
        Text(str(line.stream_id)),
        Text(line.kind),
        Text(line.code),
        Text(distance(line.ended_at, now)),
        Text(line.ended_how),
        Text(f"{line.ended_by_type} {line.ended_by}"),
        Text(line.error_code or ""),
    ]


def _tell_rest(page: Page[Letter] | Page[EndedLine]) -> None:
    if page.next is not None:
        aside(f"there are more: add --after '{page.next}'")
    tell_as_of(page.as_of)


def tell_causes(causes: Causes, streams: Sequence[SetAside]) -> dict[str, object]:
    """Return the groups as one document."""
    return {
        "causes": [
            {
                **_plain(each),
                "first": first(each.kind, each.code),
                "possible": verbs(each.sample_kind).split(", "),
            }
            for each in causes.causes
        ],
        "setAside": _tell_aside(streams),
        "hasMore": causes.has_more,
        "asOf": _plain(causes.as_of),
    }


def tell_letters(page: Page[Letter], streams: Sequence[SetAside]) -> dict[str, object]:
    """Return one page as one document, with the commands that each letter takes."""
    items = [{**_plain(each), "commands": commands(each)} for each in page.items]
    return {**_tell_page(page), "items": items, "setAside": _tell_aside(streams)}


def tell_ended(page: Page[EndedLine]) -> dict[str, object]:
    """Return one page as one document."""
    return {**_tell_page(page), "items": [_plain(each) for each in page.items]}


def _tell_page(page: Page[Letter] | Page[EndedLine]) -> dict[str, object]:
    return {
        "page": {
            "next": None if page.next is None else str(page.next),
            "limit": page.limit,
        },
        "asOf": _plain(page.as_of),
    }


def _tell_aside(streams: Iterable[SetAside]) -> list[dict[str, object]]:
    return [
        {**_plain(each), "commands": [resuming(each.projection)]} for each in streams
    ]


def _plain(struct: msgspec.Struct) -> dict[str, object]:
    plain: dict[str, object] = msgspec.to_builtins(struct, builtin_types=(datetime,))
    return plain
