"""Histories, causes and the outbox: what is told of many rows without listing them."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

from bench.lines import Line, Series, rotated
from bench.peers.lines import Quantile, Samples, at
from infrastructure.postgres.database import Connection
from projections.connections import Lend
from projections.queries.attempts import AttemptHistory, HistoryFilter
from projections.queries.letters.filter import LetterFilter
from projections.queries.letters.groups import LetterCauses
from projections.queries.outbox.lag import OutboxLag
from projections.queries.outbox.series import SeriesAsked
from projections.queries.page import COUNTED

_TIMES: Final = 40
_TARGET: Final = "≤ 50"
_STORIES: Final = """
SELECT correlation_id
  FROM counterfoil.read_attempts_a
 WHERE tenant_id = 'default'
 ORDER BY hashint8(position)
 LIMIT 40
"""


@dataclass(slots=True)
class Telling:
    """Each question as often, by turns; a history is another one each time."""

    lend: Lend
    rows: int
    stories: Sequence[str]
    samples: list[Samples] = field(default_factory=list[Samples])

    name = "histories, causes and the outbox"

    @property
    def lines(self) -> Sequence[Line]:
        """Nothing of a round: quantiles need the samples of all."""
        return ()

    @property
    def quantiles(self) -> Sequence[Quantile]:
        """The middle and the tail of each question."""
        group = f"{self.name} over {self.rows:,} rows"
        return [
            Quantile(
                group, f"{name}, p{100 * share:.0f}", "ms", at(name, share), target
            )
            for name in self._questions()
            for share, target in ((0.5, ""), (0.99, _TARGET))
        ]

    def _questions(self) -> Mapping[str, Callable[[int], object]]:
        attempts = AttemptHistory(self.lend)
        causes = LetterCauses(self.lend)
        lag = OutboxLag(self.lend)
        hour = SeriesAsked(since=timedelta(hours=1))
        week = SeriesAsked(since=timedelta(days=7))
        return {
            "a history": lambda n: attempts(
                HistoryFilter(key=self.stories[n % len(self.stories)])
            ),
            "attempts counted": lambda _: attempts.count(None, COUNTED),
            "causes of a tenant": lambda _: causes(LetterFilter(tenant_id="tenant 7")),
            "causes of a day": lambda _: causes(
                LetterFilter(younger_than=timedelta(days=1))
            ),
            "the outbox now": lambda _: lag(),
            "the outbox's last hour": lambda _: lag.series(hour),
            "the outbox's last week": lambda _: lag.series(week),
        }

    def round(self, turn: int) -> Mapping[str, float]:
        """Ask each question as often; return the middle of each."""
        questions = self._questions()
        taken: dict[str, list[float]] = {name: [] for name in questions}
        for n in range(_TIMES):
            for name in rotated(list(questions), turn + n):
                began_at = time.perf_counter()
                questions[name](n)
                taken[name].append((time.perf_counter() - began_at) * 1e3)
        self.samples.append(taken)
        return {name: at(name, 0.5)(taken) for name in taken}

    def series(self) -> Series:
        """Nothing is drawn."""
        return {}


def stories_of(connection: Connection) -> list[str]:
    """Return correlations of which there are histories."""
    return [str(row[0]) for row in connection.execute(_STORIES).fetchall()]
