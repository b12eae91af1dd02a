"""The composition root: what the command line can do, wired from the environment."""

import os
from collections.abc import Callable, Collection, Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Final

from application.job_kinds import Kinds, KindTable, grace_seconds_of
from application.roles import JOBS, PROJECTIONS, ROLES
from domain.members import invalid
from infrastructure.errors import refusals_in_our_words
from infrastructure.extensions.extensions import Extensions
from infrastructure.first_process import leave_the_first_place
from infrastructure.guards.wiring import keep_place
from infrastructure.installation import (
    Place,
    Services,
    keep_limits,
    open_installation,
    open_place,
)
from infrastructure.kind_table import kind_table
from infrastructure.kinds_alone import recipe_of
from infrastructure.lifetime import leave, work_until_stopped
from infrastructure.listening.internal import listening
from infrastructure.postgres import migrator
from infrastructure.process import Process, Server
from infrastructure.processor.identity import this_process
from infrastructure.processor.worker import Worker, WorkerOptions
from infrastructure.projecting.projector import Projector
from infrastructure.projecting.runner.runner import (
    BESIDE_JOBS,
    ProjectionRunner,
    RunnerOptions,
)
from infrastructure.reviews.folder import keep_folder, require_folder
from infrastructure.seals.key_ring import MalformedKeysError, new_key
from infrastructure.settings import Settings
from infrastructure.telemetry import emit, listen, show

if TYPE_CHECKING:
    from infrastructure.demo import DemoResult, Progress
    from infrastructure.doctor.finding import Finding
    from infrastructure.simulating import Simulators

__all__ = ["Composition", "Place", "Services", "open_installation"]

_EXAMPLES: Final = Path(__file__).resolve().parents[1] / "examples"

WORKER_POOL: Final = 12
"""Handlers wait for the panel far longer than they hold a connection."""

API_POOL: Final = 16
API_WAIT_SECONDS: Final = 5.0
"""Clients do not wait for half a minute to be told that the database is away, and each
that does keeps one of the threads that answer."""

type Serve = Callable[[Services, str, int], Server]
"""Makes what answers HTTP at a host and port, over an opened installation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaState:
    """Where the database's schema stands, and where the database is."""

    place: Place
    newest: str
    applied: tuple[str, ...]
    pending: tuple[str, ...]
    done: tuple[str, ...]
    adopted: bool


@dataclass(frozen=True, slots=True)
class PlayedDemo:
    """A demo that has ended, and the data folder that it left."""

    result: "DemoResult"
    folder: Path


class Composition:
    """Everything behind the command line; settings are read when first needed.

    What one command alone needs is imported by it: each import is time that whoever
    retries a job would wait for.
    """

    def __init__(self, environ: Mapping[str, str]) -> None:
        """Take the environment that the settings come from."""
        self._environ = environ

    @cached_property
    def settings(self) -> Settings:
        """The settings of this process.

        Raises:
            ConfigurationError: a variable has a value that cannot be meant.
        """
        return Settings.from_env(self._environ)

    @property
    def simulators(self) -> "Simulators":
        """The stand-ins for providers."""
        from infrastructure.simulating import Simulators  # noqa: PLC0415 - see above

        return Simulators()

    @cached_property
    def extensions(self) -> Extensions:
        """What other packages bring to this process."""
        return Extensions(self.settings)

    @contextmanager
    def open(self) -> Generator[Services]:
        """See `open_installation`."""
        with open_installation(self.settings, self.extensions) as services:
            yield services

    def make_key(self, key_id: str | None) -> str:
        """Return a new key under that id, or a random one, as the setting takes it.

        Raises:
            InvalidRequestError: the id is none.
        """
        try:
            return new_key(key_id or f"k{token_hex(4)}")
        except MalformedKeysError:
            invalid("id", "1 to 32 of a-z, 0-9, dot, - and _, no mark first")

    def examine(self) -> Iterator["Finding"]:
        """Yield what is well here, and what is not, with what would help."""
        from infrastructure.doctor.examine import examine  # noqa: PLC0415 - see above

        return examine(lambda: self.settings)

    def kinds(self) -> KindTable:
        """Return every kind that is known here; needs no database.

        Raises:
            ConfigurationError: a setting is wrong.
        """
        return kind_table(self.extensions)

    def work(
        self,
        announce: Callable[[Services, str | None], None],
        *,
        roles: Collection[str] = ROLES,
        up_to_date: bool = False,
        ephemeral: bool = False,
        serve: Serve | None = None,
    ) -> None:
        """Run a process until a signal stops it, then end it with code 0.

        What runs no jobs needs no kinds: other packages' are not even loaded.  With
        `serve` it answers HTTP as well.

        Raises:
            CounterfoilError: it could not be started; see `open_installation`, and
                `Extensions.require`, which comes before anything is opened.
        """
        leave_the_first_place()
        if JOBS in roles:
            self.extensions.require()
        with (
            listen(show),
            listening(*self._probed(roles)) as internal,
            open_installation(
                self.settings,
                self.extensions,
                ephemeral=ephemeral,
                up_to_date=up_to_date,
                pool_size=WORKER_POOL if serve is None else WORKER_POOL + API_POOL,
            ) as opened,
        ):
            services = replace(opened, internal=internal)
            if not roles:
                services.database.wait_seconds = API_WAIT_SECONDS
            use_folder = require_folder if serve is None else keep_folder
            use_folder(services.database, services.guarding.journal.path.parent)
            server = None
            if serve is not None:
                server = serve(services, *self.settings.http_addr)
            announce(services, None if server is None else server.address)
            process = self._process(services, roles, server)
            internal.watch(services.database, process.pulses, process.checks)
            work_until_stopped(process)
        leave(os.EX_OK)

    def _process(
        self, services: Services, roles: Collection[str], server: Server | None
    ) -> Process:
        worker, database = None, services.database
        if JOBS in roles:
            kinds = services.runnable_kinds
            rounds = services.guarding.rounds(database, services.parts.units)
            goods = services.parts.goods
            if goods is None:
                emit("digital goods delivery disabled")
            else:
                balances = services.guarding.balances(database, goods.providers)
                rounds = (*rounds, balances)
            options = self._worker_options(services.place, kinds, roles)
            worker = Worker(database, kinds, options, rounds)
        runner = None
        if PROJECTIONS in roles:
            owner = this_process() if worker is None else worker.owner
            rest = 0.0 if worker is None else BESIDE_JOBS
            runner = ProjectionRunner(
                database, Projector(database), owner, RunnerOptions(rest=rest)
            )
        return Process(
            worker=worker,
            runner=runner,
            server=server,
            stopping=services.internal.probes.drain,
        )

    def _probed(self, roles: Collection[str]) -> tuple[str, tuple[str, int] | None]:
        """Return where probes are answered, after the setting that says so."""
        if roles:
            return "COUNTERFOIL_WORKER_HTTP_ADDR", self.settings.worker_http_addr
        return "COUNTERFOIL_API_METRICS_ADDR", self.settings.api_metrics_addr

    def _worker_options(
        self, place: Place, kinds: Kinds, roles: Collection[str]
    ) -> WorkerOptions:
        settings = self.settings
        is_embedded = place.home is not None
        return WorkerOptions(
            queues={
                "critical": settings.queue_critical,
                "default": settings.queue_default,
                "bulk": settings.queue_bulk,
            },
            roles=[role for role in ROLES if role in roles],
            max_concurrent=settings.job_max_concurrent,
            grace_seconds=settings.shutdown_grace_seconds or grace_seconds_of(kinds),
            listen_url=place.uri if is_embedded else settings.listen_url,
            suspects=recipe_of(place),
        )

    def migrate(self, *, only_check: bool) -> SchemaState:
        """Return where the schema stands, after migrating unless `only_check`.

        Raises:
            CounterfoilError: see `infrastructure.postgres.migrator.migrate`.
        """
        with refusals_in_our_words(), open_place(self.settings) as place:
            work = migrator.check if only_check else migrator.migrate
            report = work(place.uri)
            if not only_check:
                keep_limits(self.settings, place)
                keep_place(place.uri)
        return SchemaState(
            place=place,
            newest=report.newest,
            applied=report.applied,
            pending=report.pending,
            done=report.done,
            adopted=report.adopted,
        )

    def demo(
        self, tell: Callable[[str], None], show: Callable[["Progress"], None]
    ) -> PlayedDemo:
        """Play the demo to its end; its data stay.

        Raises:
            CounterfoilError: the server, a child or the orders' file failed.
        """
        from infrastructure.demo import (  # noqa: PLC0415 - see above
            DemoOptions,
            Orders,
            stage_demo,
        )

        folder = self.settings.data_dir / "demo"
        orders = Orders(
            file=_EXAMPLES / "cdnow_orders.csv",
            map_file=_EXAMPLES / "cdnow.json",
        )
        with refusals_in_our_words():
            result = stage_demo(folder, orders, DemoOptions(), tell, show)
        return PlayedDemo(result, folder)
