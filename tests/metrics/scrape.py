"""What a registry says, as a scraper reads it."""

from collections.abc import Iterator
from contextlib import contextmanager

from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from infrastructure.postgres.database import Database
from infrastructure.sampling.sampler import Sampler
from infrastructure.telemetry.metrics.meter import Metrics
from tests.fixtures.database import TestDatabase

type Samples = dict[tuple[str, ...], float]


class Scrape:
    """The samples of one moment, by name and the values of their labels."""

    def __init__(self, text: str) -> None:
        self.samples: Samples = {}
        self.families: dict[str, list[float]] = {}
        for family in text_string_to_metric_families(text):
            name = family.name + ("_total" if family.type == "counter" else "")
            values = self.families.setdefault(name, [])
            for sample in family.samples:
                labels = tuple(v for k, v in sorted(sample.labels.items()) if k != "le")
                self.samples[sample.name, *labels] = sample.value
                values.append(sample.value)

    def __call__(self, name: str, /, **labels: str) -> float:
        """Return one value; labels in any order."""
        key = (f"counterfoil_{name}", *(labels[each] for each in sorted(labels)))
        return self.samples[key]

    def of(self, name: str) -> dict[tuple[str, ...], float]:
        """Return every sample of that name, by its labels."""
        found = self.samples.items()
        return {it[1:]: value for it, value in found if it[0] == f"counterfoil_{name}"}


class Meters:
    """The metrics of a process, and the sampler beside them."""

    def __init__(self, pool: Database) -> None:
        self.metrics = Metrics(version="1.2.3", schema="0042")
        self.sampler = Sampler(pool, self.metrics.families, lambda: True)
        self._pool = pool

    def scrape(self, *, sample: bool = True) -> Scrape:
        """Return what is served, after a new sample."""
        if sample:
            with self._pool.connect() as connection:
                self.sampler.sample(connection)
                self.sampler.tell_process()
        return Scrape(generate_latest(self.metrics.registry).decode())


@contextmanager
def metered(database: TestDatabase) -> Iterator[Meters]:
    """Count what happens in this process meanwhile."""
    with Database(database.conninfo, pool_size=4) as pool:
        meters = Meters(pool)
        with meters.metrics.counting():
            yield meters
