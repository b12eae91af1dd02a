"""Lists over a million rows, as an operators' program asks for them over HTTP.

One client, one connection that is kept open, one question after the other: everything,
each field by what most rows have and what few have, and every two of them; a page of 50
rows, and each once more with a capped count.
"""

import http.client
import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final
from urllib.parse import quote, urlsplit

from bench.child import BenchError
from bench.ground import Ground
from bench.http.sides import api_environ, serving, token_of
from bench.lines import rotated
from bench.lists.cases import CASES, Case, Connection, pairs, singles
from bench.lists.measures import lay_all
from domain.access.audience import Audience
from domain.access.permissions import Permission
from infrastructure.postgres.database import connect
from projections.queries.terms import Among, Between, Scalar

_ROUTES: Final = {
    "jobs": "jobs",
    "dead letters": "dead-letters",
    "operations": "operations",
    "deliveries": "deliveries",
    "orders": "orders",
    "entitlements": "entitlements",
}
_WORDS: Final = {
    "jobs": ("state:completed", "state:scheduled", "state:dead_letter"),
}
"""Asked for besides: where a surface has other words than the rows."""
_UNASKED: Final = frozenset({"tenant", "age"})
"""The token says whose rows are shown; an age is an instant by another name."""
_READS: Final = tuple(it for it in Permission if it.value.endswith(":read"))
_PAGE: Final = ""
_COUNTED: Final = "&count=capped"
_OK: Final = 200
_REFUSED: Final = 400


@dataclass(slots=True)
class Asked:
    """One list: what it is asked, and milliseconds of every answer."""

    name: str
    filters: Sequence[str]
    left_out: int
    """Questions that this surface does not take."""
    taken: dict[str, list[float]] = field(default_factory=dict[str, list[float]])

    def told(self) -> dict[str, float]:
        """Return quantiles over all answers."""
        page = statistics.quantiles(self.taken[_PAGE], n=100)
        counted = statistics.quantiles(self.taken[_COUNTED], n=100)
        return {
            "questions": len(self.filters),
            "left_out": self.left_out,
            "p50_ms": page[49],
            "p95_ms": page[94],
            "p99_ms": page[98],
            "counted_p99_ms": counted[98],
        }


class Client:
    """Asks over one connection."""

    def __init__(self, address: str, token: str) -> None:
        """Take whom to ask, and by which token."""
        self._connection = http.client.HTTPConnection(urlsplit(address).netloc)
        self._headers = {"Authorization": f"Bearer {token}"}

    def close(self) -> None:
        """Ask nothing more."""
        self._connection.close()

    def ask(self, path: str) -> tuple[int, float]:
        """Return the status, and how many milliseconds the whole answer took."""
        began_at = time.perf_counter()
        self._connection.request("GET", path, headers=self._headers)
        answer = self._connection.getresponse()
        answer.read()
        return answer.status, (time.perf_counter() - began_at) * 1e3


def measure(place: Ground, rows: int, rounds: int) -> Mapping[str, Mapping[str, float]]:
    """Return what each list took, over so many rows each.

    Raises:
        BenchError: a question was refused that had been answered before.
    """
    with place.database() as conninfo:
        with closing(connect(conninfo)) as connection:
            lay_all(connection, rows)
            texts = {it.name: list(_texts(it, connection)) for it in _cases()}
        token = token_of(conninfo, Audience.ADMIN, _READS)
        place.checkpoint()
        with (
            serving("api", "api", "--json", environ=api_environ(conninfo)) as address,
            closing(Client(address, token)) as client,
        ):
            lists = [_known(client, name, asked) for name, asked in texts.items()]
            for turn in range(rounds):
                for each in rotated(lists, turn):
                    _ask_all(client, each)
    return {each.name: each.told() for each in lists}


def _cases() -> Iterator[Case]:
    return (case for case in CASES if case.name in _ROUTES)


def _texts(case: Case, connection: Connection) -> Iterator[str]:
    """Yield the filters as they are written."""
    alone = [it for it in singles(case, connection) if it.term.field not in _UNASKED]
    yield ""
    yield from _WORDS.get(case.name, ())
    yield from (_text(it.term) for it in alone)
    yield from (f"{_text(a.term)} {_text(b.term)}" for a, b in pairs(alone))


def _text(term: object) -> str:
    match term:
        case Among(name, values):
            return f"{_camel(name)}:{','.join(map(_value, values))}"
        case Between(name, least, below):
            bounds = [f"{_camel(name)}:>={_instant(least)}"]
            if below is not None:
                bounds.append(f"{_camel(name)}:<{_instant(below)}")
            return " ".join(bounds)
        case _:
            msg = f"{term} has no text"
            raise BenchError(msg)


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others))


def _value(value: Scalar) -> str:
    return f'"{value}"'


def _instant(bound: object) -> str:
    if isinstance(bound, datetime):
        return bound.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    return str(bound)


def _known(client: Client, name: str, texts: Sequence[str]) -> Asked:
    """Return the list with the questions that are taken; asking them warms up."""
    taken = [it for it in texts if client.ask(_path(name, it))[0] != _REFUSED]
    if not taken:
        msg = f"{name} takes no question"
        raise BenchError(msg)
    return Asked(name, taken, len(texts) - len(taken))


def _ask_all(client: Client, each: Asked) -> None:
    for text in each.filters:
        for suffix in (_PAGE, _COUNTED):
            status, took = client.ask(_path(each.name, text) + suffix)
            if status != _OK:
                msg = f"{each.name}, {text}: {status}"
                raise BenchError(msg)
            each.taken.setdefault(suffix, []).append(took)


def _path(name: str, text: str) -> str:
    return f"/v1/admin/{_ROUTES[name]}?limit=50&f={quote(text)}"
