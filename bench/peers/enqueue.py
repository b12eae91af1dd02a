"""Enqueue: one by one, many at once, and in a caller's own transaction."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from bench.bulk import bulk
from bench.child import BenchError
from bench.ground import Ground
from bench.lines import Line, Series, ratio, rotated, value
from bench.peers.field import BATCH, Field, Fields
from bench.peers.lines import OURS, middle, ratios, variants
from bench.single import single

_FLOOR: Final = "SQL floor, one statement for a batch"


@dataclass(frozen=True, slots=True)
class Single:
    """Milliseconds of one enqueue with its commit, and of a payment with a job."""

    fields: Fields
    times: int
    name: str = "single"

    @property
    def lines(self) -> Sequence[Line]:
        """An enqueue alone; a caller's transaction with and without one."""
        names = [it.system.name for it in self.fields.ready]
        able = [
            it.system.name
            for it in self.fields.ready
            if not it.system.without_transaction
        ]
        return [
            *variants(self.name, "single enqueue, median", "ms", names),
            *ratios(self.name, "single enqueue, median", names, {}),
            *(
                Line("a caller's transaction with one row", title, "ms",
                     value(self.name, f"{name}: {key}"))
                for name in able
                for key, title in (("alone", f"{name}: its driver, row alone"),
                                   ("with job", f"{name}: with a job"))
            ),
            *(
                Line("a caller's transaction with one row",
                     f"{name}: with a job / without", "×",
                     ratio(self.name, f"{name}: with job", f"{name}: alone"),
                     "≤ 1.5" if name == OURS else "")
                for name in able
            ),
        ]  # fmt: skip

    def round(self, turn: int) -> Mapping[str, float]:
        """Enqueue with each queue in a fresh database."""
        found: dict[str, float] = {}
        for it in rotated(self.fields.ready, turn):
            try:
                found |= self._of(it)
            except BenchError as error:
                self.fields.failed(it.system, self.name, turn, error)
        return found

    def series(self) -> Series:
        """Return nothing: times are bars."""
        return {}

    def _of(self, it: Field) -> dict[str, float]:
        name, times = it.system.name, str(self.times)
        with it.empty() as conninfo:
            it.place.checkpoint()
            seconds = it.enqueue(conninfo, "single", times)["seconds"]
        found = {name: middle(seconds)}
        if it.system.without_transaction:
            return found
        with it.empty() as conninfo:
            it.place.checkpoint()
            told = it.enqueue(conninfo, "transaction", times)
        return found | {
            f"{name}: alone": middle(told["alone"]),
            f"{name}: with job": middle(told["with_job"]),
        }


@dataclass(frozen=True, slots=True)
class Bulk:
    """Jobs per second, 1,000 at once, one transaction each."""

    fields: Fields
    place: Ground
    times: int
    name: str = "bulk enqueue"

    @property
    def lines(self) -> Sequence[Line]:
        """Rates, and what ours is of the others'."""
        title = f"bulk enqueue, {BATCH:,} jobs at once"
        names = [*(it.system.name for it in self.fields.ready), _FLOOR]
        return [
            *variants(self.name, title, "jobs/s", names),
            *ratios(self.name, title, names, {_FLOOR: "≥ 0.7"}),
        ]

    def round(self, turn: int) -> Mapping[str, float]:
        """Enqueue with each queue and by the floor, in fresh databases."""
        found: dict[str, float] = {}
        for it in rotated([None, *self.fields.ready], turn):
            if it is None:
                found[_FLOOR] = bulk(self.place, self.times, BATCH)["rows"]
                continue
            jobs = max(int(self.times * BATCH * min(it.system.share, 1.0)), BATCH)
            try:
                with it.empty() as conninfo:
                    it.place.checkpoint()
                    told = it.enqueue(conninfo, "bulk", str(jobs), str(BATCH))
                found[it.system.name] = jobs / sum(told["seconds"])
            except BenchError as error:
                self.fields.failed(it.system, self.name, turn, error)
        return found

    def series(self) -> Series:
        """Return nothing: rates are bars."""
        return {}


@dataclass(frozen=True, slots=True)
class Plain:
    """Ours beside plain SQL: the same rows, in turns, in one caller's transaction."""

    place: Ground
    times: int
    name: str = "plain insert"

    @property
    def lines(self) -> Sequence[Line]:
        """Ours against the same rows by plain SQL, and against his own row alone."""
        title = "counterfoil.enqueue in a caller's transaction"
        return [
            Line(title, "with the same rows by plain SQL", "ms",
                 value(self.name, "rows")),
            Line(title, "with counterfoil.enqueue", "ms", value(self.name, "enqueue")),
            Line(title, "counterfoil.enqueue / the same rows by plain SQL", "×",
                 ratio(self.name, "enqueue", "rows"), "≤ 1.5"),
        ]  # fmt: skip

    def round(self, turn: int) -> Mapping[str, float]:
        """Pay with each variant, transaction by transaction; `turn` changes nothing."""
        del turn
        return single(self.place, self.times)

    def series(self) -> Series:
        """Return nothing: times are bars."""
        return {}
