"""One process's metrics: its registry, and who is told what."""

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from prometheus_client import CollectorRegistry, PlatformCollector, ProcessCollector

from infrastructure.telemetry import measures
from infrastructure.telemetry.log import Value, listen
from infrastructure.telemetry.measures import Measure, measuring
from infrastructure.telemetry.metrics.families import Families
from infrastructure.telemetry.metrics.jobs import BirthMetrics, ClaimMetrics, RunMetrics
from infrastructure.telemetry.metrics.lines import LineMetrics
from infrastructure.telemetry.metrics.records import EdgeMetrics, RecordMetrics
from infrastructure.telemetry.metrics.requests import RequestMetrics, StreamMetrics

_BUILD: Final = "build_info"


class Metrics:
    """The metrics of one process; safe for its threads."""

    def __init__(self, *, version: str, schema: str) -> None:
        """Declare every family; both texts are of this version."""
        self.registry = CollectorRegistry()
        self.families = Families(self.registry)
        ProcessCollector(registry=self.registry)
        PlatformCollector(registry=self.registry)
        self.families.gauge(
            _BUILD, "1, and what this is.", "version", "schema_version", most=1
        ).set(1, version, schema)
        self._lines = LineMetrics(self.families)
        self._of: Mapping[type, Callable[[Any], None]] = _table(self.families)

    @contextmanager
    def counting(self) -> Generator[None]:
        """Count what happens inside the block."""
        with measuring(self._measured), listen(self._heard):
            yield

    def _measured(self, measure: Measure) -> None:
        self._of[type(measure)](measure)

    def _heard(self, event: str, values: dict[str, Value]) -> None:
        self._lines.heard(event, values)


def _table(families: Families) -> Mapping[type, Callable[[Any], None]]:
    claims, runs = ClaimMetrics(families), RunMetrics(families)
    records, edges = RecordMetrics(families), EdgeMetrics(families)
    requests, streams = RequestMetrics(families), StreamMetrics(families)
    births = BirthMetrics(families)
    return {
        measures.JobsClaimed: claims.claimed,
        measures.JobsSucceeded: runs.succeeded,
        measures.RunsSettled: runs.settled,
        measures.LeaseLost: claims.lost,
        measures.WriteFenced: claims.fenced,
        measures.JobsEnqueued: births.enqueued,
        measures.EventsAppended: records.appended,
        measures.AppendConflicted: records.conflicted,
        measures.UnitRepeated: records.repeated,
        measures.OperatorActed: records.acted,
        measures.GoodsAnswered: records.goods,
        measures.OrderFulfilled: records.fulfilled,
        measures.CallbackTaken: edges.told,
        measures.ProviderAsked: edges.asked,
        measures.ProjectionFailed: edges.failed,
        measures.ConnectionLent: edges.lent,
        measures.RequestBegun: requests.began,
        measures.RequestAnswered: requests.answered,
        measures.KeyUsed: requests.keyed,
        measures.Refused: requests.refused,
        measures.StreamFollowed: streams.followed,
        measures.StreamDropped: streams.dropped,
    }
