"""One installation, opened: its database found, its schema checked, all wired.

settings ─► embedded server or the given one ─► schema ─► pool ─► services
"""

import os
import socket
from collections.abc import Generator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from application.callbacks.all import Callbacks
from application.front_door import RefundOne, SettleOne
from application.job_kinds import Kinds
from application.operators.action import Action
from application.operators.cancel import cancel_job
from application.operators.deliveries.decide import DecideReview
from application.operators.deliveries.reconcile import ReconcileDelivery
from application.operators.maintenance import Maintenance
from application.operators.operate import Operate
from application.operators.projections import Projections
from application.operators.quarantine import Quarantining
from application.operators.retry import retry_job
from application.operators.target import Targets
from application.providers.configuring import ConfigureProviders
from application.providers.limiting import LimitProviders
from domain.event import Actor
from infrastructure import embedded
from infrastructure.errors import refusals_in_our_words
from infrastructure.extensions.extensions import Extensions
from infrastructure.extensions.panel import GuardedPanel
from infrastructure.front_door import refund_over, settle_over
from infrastructure.goods.parts import callbacks_of, goods_of
from infrastructure.guards.wiring import Guarding
from infrastructure.ids import new_id
from infrastructure.kinds import Parts, product_kinds, runnable_kinds
from infrastructure.limits import set_limits
from infrastructure.log.horizon import require_positions_ahead
from infrastructure.postgres import migrator
from infrastructure.postgres.batch_store import BatchStore
from infrastructure.postgres.database import Database
from infrastructure.postgres.streams import PostgresStreams
from infrastructure.postgres.windows import PostgresWindows
from infrastructure.projecting.builds.builds import Builds
from infrastructure.projecting.switches import projections_over
from infrastructure.projecting.waiting import at_least
from infrastructure.providers.panel.http_panel import HttpPanel
from infrastructure.providers.panel.wire import PanelWire
from infrastructure.providers.registry.wiring import configure_over, reconcile_over
from infrastructure.reviews.reviews import decide_over
from infrastructure.settings import Settings
from projections.event_log import EventLog
from projections.job_history import JobHistory
from projections.job_list import JobList
from projections.maintenance import MaintenanceState
from projections.pending import Pending
from projections.queries.all import Queries, queries_over
from projections.reading import AtLeast
from projections.why import Why

COMMAND_POOL: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where the database is, as a person may be told: without any password."""

    uri: str
    home: Path | None
    """Folder of the embedded server's data; None when the server was given."""
    is_ephemeral: bool = False
    notices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """One installation, wired over one pool of connections."""

    place: Place
    migrated: tuple[str, ...] = ()
    """Migrations that were applied on the way in."""
    missing: tuple[str, ...]
    """Settings without which some kinds of job are not claimed here."""
    database: Database
    parts: Parts
    kinds: Kinds
    """The product's own kinds."""
    extensions: Extensions
    """What other packages bring; loaded when it is asked for."""
    settle_order: SettleOne
    refund_order: RefundOne
    jobs: JobList
    job: JobHistory
    events: EventLog
    why: Why
    pending: Pending
    retry: Action
    cancel: Action
    operate: Operate
    decide: DecideReview
    reconcile_delivery: ReconcileDelivery
    maintenance: Maintenance
    maintenance_state: MaintenanceState
    queries: Queries
    builds: Builds
    projections: Projections
    providers: ConfigureProviders
    guarding: Guarding
    restore_guard: Quarantining
    callbacks: Callbacks

    def at_least(self, position: int | None) -> AtLeast | None:
        """Return what lets one read wait for a position; None: it need not."""
        if position is None:
            return None
        return at_least(self.database.connection, position)

    @property
    def limit_providers(self) -> LimitProviders:
        """Sets what may be spent at providers, and tells how they stand."""
        return self.guarding.limits(self.database, self.parts.units)

    @property
    def budgets(self) -> Mapping[str, int]:
        """How many attempts a kind of job has, unless a job says otherwise."""
        known = {**self.extensions.kinds, **self.kinds}
        return {name: kind.budget.max_attempts for name, kind in known.items()}

    @property
    def runnable_kinds(self) -> Kinds:
        """What a worker may claim here: other packages' kinds beside the product's."""
        return {**self.extensions.kinds, **runnable_kinds(self.parts)}

    @property
    def faults(self) -> tuple[str, ...]:
        """What is wrong with kinds of other packages, a sentence each."""
        return self.extensions.faults

    @property
    def panel_package(self) -> str | None:
        """The package whose adapter stands in for ours."""
        panel = self.extensions.panel
        return None if panel is None else panel.package


@contextmanager
def open_installation(
    settings: Settings,
    extensions: Extensions,
    *,
    ephemeral: bool = False,
    up_to_date: bool = False,
    pool_size: int = COMMAND_POOL,
) -> Generator[Services]:
    """Give the services of an installation; `up_to_date` migrates it first.

    Raises:
        ConfigurationError: a setting is wrong.
        DatabaseUnavailableError: the database cannot be reached.
        MigrationError: the schema is not this version's.
        InfrastructureError: the database refused what this role asked for.
    """
    with ExitStack() as stack:
        stack.enter_context(refusals_in_our_words())
        place = stack.enter_context(open_place(settings, ephemeral=ephemeral))
        migrated: tuple[str, ...] = ()
        if up_to_date or ephemeral:
            migrated = migrator.migrate(place.uri).done
            keep_limits(settings, place)
        else:
            migrator.require_current(place.uri)
        database = Database(place.uri, pool_size=pool_size)
        database.look = _guarding(settings, place).look
        stack.enter_context(database)
        with database.connection() as connection:
            require_positions_ahead(connection)
        panel = extensions.panel or _panel(settings)
        if panel is not None:
            stack.callback(panel.close)
        wired = _wired(settings, place, database, panel, extensions)
        yield replace(wired, migrated=migrated)


def keep_limits(settings: Settings, place: Place) -> None:
    """Write the limits of pending jobs that are set here into the database."""
    set_limits(
        place.uri,
        pending=settings.job_max_pending,
        tenant_pending=settings.job_max_tenant_pending,
    )


@contextmanager
def open_place(settings: Settings, *, ephemeral: bool = False) -> Generator[Place]:
    """Give a database: the one that the settings name, or the embedded one."""
    if settings.database_url is not None and not ephemeral:
        yield Place(uri=settings.database_url, home=None)
        return
    with embedded.serve(
        settings.data_dir, ephemeral=ephemeral, binaries=settings.pgbin
    ) as server:
        yield Place(
            uri=server.uri,
            home=server.home,
            is_ephemeral=ephemeral,
            notices=server.notices,
        )


def _panel(settings: Settings) -> HttpPanel | None:
    if settings.remnawave_url is None or settings.remnawave_token is None:
        return None
    return HttpPanel(PanelWire(settings.remnawave_url, settings.remnawave_token))


def _wired(
    settings: Settings,
    place: Place,
    database: Database,
    panel: HttpPanel | GuardedPanel | None,
    extensions: Extensions,
) -> Services:
    streams = PostgresStreams(database)
    guarding, keys = _guarding(settings, place), settings.data_encryption_keys
    parts = _parts(settings, database, streams, panel, guarding)
    targets = Targets(parts.streams, streams, kinds := product_kinds(parts))
    return Services(
        place=place,
        missing=_missing(settings) if panel is None else (),
        database=database,
        parts=parts,
        kinds=kinds,
        extensions=extensions,
        settle_order=settle_over(database),
        refund_order=refund_over(database),
        jobs=JobList(database.connection),
        job=JobHistory(database.connection),
        events=EventLog(database.connection),
        why=Why(database.connection),
        pending=Pending(database.connection),
        retry=retry_job(targets, parts.units, new_id),
        cancel=cancel_job(targets, parts.units, new_id),
        operate=Operate(streams, parts.units, new_id),
        decide=decide_over(database, parts.units, four_eyes=settings.four_eyes),
        reconcile_delivery=reconcile_over(database, keys, parts.units),
        maintenance=Maintenance(PostgresWindows(database), parts.units, new_id),
        maintenance_state=MaintenanceState(database.connection),
        queries=queries_over(database.connection),
        builds=Builds(database),
        projections=projections_over(database, parts.units),
        providers=configure_over(database, keys, parts.units),
        guarding=guarding,
        restore_guard=guarding.quarantining(database, parts.units),
        callbacks=callbacks_of(settings, streams, database, parts.units),
    )


def _parts(
    settings: Settings,
    database: Database,
    streams: PostgresStreams,
    panel: HttpPanel | GuardedPanel | None,
    guarding: Guarding,
) -> Parts:
    return Parts(
        streams=streams,
        units=BatchStore(database),
        ids=new_id,
        panel=panel,
        username_prefix=settings.panel_username_prefix,
        actor=_actor(),
        goods=goods_of(settings, database, guarding),
    )


def _guarding(settings: Settings, place: Place) -> Guarding:
    # A throw-away database has a throw-away journal.
    home = place.home if place.is_ephemeral else None
    return Guarding.of(home or settings.data_dir, _actor())


def _actor() -> Actor:
    return Actor(type="worker", id=f"{socket.gethostname()[:255]}:{os.getpid()}")


def _missing(settings: Settings) -> tuple[str, ...]:
    """Return the settings without which there is no panel to ask."""
    needed = {
        "COUNTERFOIL_REMNAWAVE_URL": settings.remnawave_url,
        "COUNTERFOIL_REMNAWAVE_TOKEN": settings.remnawave_token,
    }
    return tuple(name for name, value in needed.items() if value is None)
