"""What the listener inside each role must say after the orders."""

from collections.abc import Iterator, Mapping
from typing import Final

from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from deploy.trial.world import Listened

_OK: Final = 200
_PROBES: Final = ("/livez", "/readyz", "/startupz")
_METRICS: Final = "/metrics"
_PREFIX: Final = "counterfoil_"
_SETTLED: Final = {"route": "/v1/orders/settle", "method": "POST"}
_SUCCEEDED: Final = {"kind": "fulfillment", "outcome": "succeeded"}

_EVER: Final[Mapping[str, Mapping[str, Mapping[str, str]]]] = {
    "api": {
        "http_requests_total": {**_SETTLED, "status_class": "2xx"},
        "idempotency_total": {"result": "replayed"},
        "build_info": {},
    },
    "worker": {
        "jobs_finished_total": _SUCCEEDED,
        "provider_requests_total": {"provider": "panel"},
        "build_info": {},
    },
}
"""What each role must have counted: a sample, and labels of it."""
_NEVER: Final = ("jobs", "dead_letters", "fenced_writes_total")
"""What every role must tell, and be at nought with."""


def misgivings(role: str, listened: Listened) -> Iterator[str]:
    """Yield a sentence for each thing that a role should not say."""
    for path in (*_PROBES, _METRICS):
        status, told = listened[path]
        if status != _OK:
            yield f"{role}: {path} answers {status}: {told}"
    samples = list(_samples(listened[_METRICS][1]))
    for name, labels in _EVER[role].items():
        if _sum(samples, name, labels) <= 0:
            yield f"{role}: {name} with {dict(labels)} has counted nothing"
    if _sum(samples, "dependency_up", {"dependency": "database"}) != 1:
        yield f"{role}: the database is not said to be up"
    for name in _NEVER:
        if (total := _sum(samples, name, {})) != 0:
            yield f"{role}: {name} is {total:g}"


def _samples(exposed: str) -> Iterator[Sample]:
    for family in text_string_to_metric_families(exposed):
        yield from family.samples


def _sum(samples: list[Sample], name: str, labels: Mapping[str, str]) -> float:
    return sum(
        it.value
        for it in samples
        if it.name == _PREFIX + name and labels.items() <= it.labels.items()
    )
