"""One list over many rows: every question timed, near and deep, alone and in pairs."""

import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import psycopg

from bench.child import BenchError
from bench.lines import Line, Series, rotated
from bench.lists.cases import Case, Question, middle, pairs, singles
from bench.peers.lines import Quantile, Samples, at
from infrastructure.postgres.database import Connection
from projections.queries.terms import Asked
from projections.reading import reading

_PAGE: Final = "a page"
_COUNTED: Final = "counted"
_SHARES: Final = {0.5: "", 0.95: "", 0.99: "≤ 50"}
"""Of all samples, and what the design asks of them."""


@dataclass(frozen=True, slots=True)
class _Asking:
    """A question, and the page that is wanted of it."""

    name: str
    asked: Asked


@dataclass(slots=True)
class Asking:
    """The pages of one list."""

    case: Case
    rows: int
    connection: Connection
    samples: list[Samples] = field(default_factory=list[Samples])
    _askings: list[_Asking] = field(default_factory=list[_Asking])

    @property
    def name(self) -> str:
        """Its key in a round."""
        return f"list of {self.case.name}"

    @property
    def lines(self) -> Sequence[Line]:
        """Nothing of a round: quantiles need the samples of all."""
        return ()

    @property
    def quantiles(self) -> Sequence[Quantile]:
        """How long a page takes, and how long one does that is counted."""
        group = f"lists over {self.rows:,} rows, whatever is asked for"
        name = self.case.name
        return [
            Quantile(group, f"{name}: {what}, p{100 * share:.0f}", "ms",
                     at(what, share), target)
            for what in (_PAGE, _COUNTED)
            for share, target in _SHARES.items()
        ]  # fmt: skip

    def prepare(self) -> None:
        """Find out what is common and what is rare, and ask everything once."""
        alone = list(singles(self.case, self.connection))
        deep = middle(self.case, self.connection)
        self._askings = list(_askings(alone))
        self._askings += [
            _Asking(f"{it.name}, deep", Asked(terms=it.asked.terms, after=deep))
            for it in self._askings
        ]
        for it in self._askings:
            self._ask(it.asked)

    def round(self, turn: int) -> Mapping[str, float]:
        """Ask everything, another question first in each turn.

        Raises:
            BenchError: a list gave nothing at all.
        """
        taken: dict[str, float] = {}
        counted: list[float] = []
        for it in rotated(self._askings, turn * 7):
            taken[it.name] = self._ask(it.asked)
            if it.asked.after is None:
                asked = Asked(terms=it.asked.terms, is_counted=True)
                counted.append(self._ask(asked))
        self.samples.append({_PAGE: list(taken.values()), _COUNTED: counted})
        return taken

    def series(self) -> Series:
        """Nothing is drawn."""
        return {}

    def _ask(self, asked: Asked) -> float:
        """Return how many milliseconds a page took, its snapshot included."""
        listing = self.case.listing
        began_at = time.perf_counter()
        with reading(self._lend, listing.name) as look:
            page = listing.read(look, asked)
        took = (time.perf_counter() - began_at) * 1e3
        if not page.items and not asked.terms:
            msg = f"{listing.name} has no rows"
            raise BenchError(msg)
        return took

    @contextmanager
    def _lend(self) -> Generator[psycopg.Connection[Any]]:
        yield self.connection


def _askings(alone: Sequence[Question]) -> Iterator[_Asking]:
    yield _Asking("everything", Asked())
    for it in alone:
        yield _Asking(it.name, Asked(terms=(it.term,)))
    for one, other in pairs(alone):
        terms = (one.term, other.term)
        yield _Asking(f"{one.name} and {other.name}", Asked(terms=terms))
