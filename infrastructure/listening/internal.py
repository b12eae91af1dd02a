"""What one process answers about itself: its probes, and where they are asked for."""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import metadata

from infrastructure.listening.check import Check
from infrastructure.listening.checks import database, pool, schema
from infrastructure.listening.door import Door
from infrastructure.listening.listener import Listener
from infrastructure.listening.probes import Probes
from infrastructure.postgres.database import Database
from infrastructure.postgres.migration_files import migrations_folder, read_migrations
from infrastructure.sampling.sampler import Sampler
from infrastructure.telemetry.metrics.meter import Metrics
from infrastructure.telemetry.pulse import Pulse


@dataclass(frozen=True, slots=True)
class Internal:
    """The probes of a process, and the address at which they are answered."""

    address: str | None = None
    """HOST:PORT; None: nowhere."""
    probes: Probes = field(default_factory=Probes)
    metrics: Metrics | None = None
    """None: nobody could read them, so nothing is counted."""

    def watch(
        self, over: Database, pulses: Sequence[Pulse], parts: Sequence[Check]
    ) -> None:
        """Check the database, and what this process is made of, from now on."""
        self.probes.watch(
            pulses=pulses,
            ready=(database(over.conninfo), pool(over), *parts),
            started=(schema(over.conninfo),),
        )
        if self.metrics is not None:
            families, probes = self.metrics.families, self.probes
            Sampler(over, families, lambda: probes.ready().is_good).start()


def version() -> str:
    """Return what is installed; empty: it runs from a checkout that is not."""
    try:
        return metadata.version("counterfoil")
    except metadata.PackageNotFoundError:
        return ""


@contextmanager
def listening(setting: str, address: tuple[str, int] | None) -> Generator[Internal]:
    """Answer at `address` from now on, before anything else of the process begins.

    Raises:
        ConfigurationError: nobody can listen there; it names the setting.
    """
    if address is None:
        yield Internal()
        return
    listener = Listener(setting, address)
    newest = read_migrations(migrations_folder())[-1].name
    metrics = Metrics(version=version(), schema=newest.partition("_")[0])
    internal = Internal(listener.address, metrics=metrics)
    listener.serve(Door(internal.probes, metrics.registry))
    try:
        with metrics.counting():
            yield internal
    finally:
        listener.close()
