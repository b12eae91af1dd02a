"""What the edge needs of an installation; wired by infrastructure.bootstrap."""

from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import AbstractContextManager
from typing import Any, Protocol

from api.builds import Builds
from api.demo_result import DemoProgress, PlayedDemo
from api.places import Finding, Place, SchemaState
from api.serving import Server
from api.simulators import Simulators
from application.access.access import Access
from application.callbacks.all import Callbacks
from application.front_door import RefundOne, SettleOne
from application.job_kinds import KindTable
from application.operators.action import Action
from application.operators.deliveries.decide import DecideReview
from application.operators.deliveries.reconcile import ReconcileDelivery
from application.operators.maintenance import Maintenance
from application.operators.operate import Operate
from application.operators.projections import Projections
from application.operators.quarantine import Quarantining
from application.providers.configuring import ConfigureProviders
from application.providers.limiting import LimitProviders
from application.queues.control import ControlQueues
from application.queues.drain import DrainWorker
from application.roles import ROLES
from projections.event_log import EventLog
from projections.job_history import JobHistory
from projections.job_list import JobList
from projections.maintenance import MaintenanceState
from projections.pending import Pending
from projections.queries.all import Queries
from projections.reading import AtLeast
from projections.why import Why


class Services(Protocol):
    """An opened installation."""

    @property
    def place(self) -> Place:
        """Where its database is."""
        ...

    @property
    def migrated(self) -> tuple[str, ...]:
        """Migrations that were applied while it was opened."""
        ...

    @property
    def probed_at(self) -> str | None:
        """Where this process answers probes; None: nowhere."""
        ...

    @property
    def missing(self) -> tuple[str, ...]:
        """Settings without which fulfilment jobs are not claimed."""
        ...

    @property
    def settle_order(self) -> SettleOne:
        """Settles one order in a transaction of its own."""
        ...

    @property
    def refund_order(self) -> RefundOne:
        """Asks for one refund in a transaction of its own."""
        ...

    @property
    def budgets(self) -> Mapping[str, int]:
        """How many attempts a kind of job has, unless a job says otherwise."""
        ...

    @property
    def faults(self) -> tuple[str, ...]:
        """What is wrong with kinds of other packages, a sentence each."""
        ...

    @property
    def panel_package(self) -> str | None:
        """The package whose adapter stands in for ours."""
        ...

    @property
    def jobs(self) -> JobList:
        """Lists jobs."""
        ...

    @property
    def job(self) -> JobHistory:
        """Reads the stream of one job."""
        ...

    @property
    def events(self) -> EventLog:
        """Reads the log."""
        ...

    @property
    def why(self) -> Why:
        """Tells the story of an id."""
        ...

    @property
    def pending(self) -> Pending:
        """Tells limits, and how full it is."""
        ...

    @property
    def retry(self) -> Action:
        """Revives what is dead."""
        ...

    @property
    def cancel(self) -> Action:
        """Ends what is not finished."""
        ...

    @property
    def operate(self) -> Operate:
        """Asks for operations on entitlements."""
        ...

    @property
    def decide(self) -> DecideReview:
        """Says what became of goods whose end nobody knows."""
        ...

    @property
    def reconcile_delivery(self) -> ReconcileDelivery:
        """Has a provider asked what became of a purchase."""
        ...

    @property
    def maintenance(self) -> Maintenance:
        """Opens and closes windows of maintenance."""
        ...

    @property
    def maintenance_state(self) -> MaintenanceState:
        """Tells what is closed for maintenance."""
        ...

    def at_least(self, position: int | None) -> AtLeast | None:
        """Return what lets one read wait for a position; None: it need not."""
        ...

    @property
    def queries(self) -> Queries:
        """Asks read models, and who holds the feed back."""
        ...

    @property
    def builds(self) -> Builds:
        """Makes read models anew, and compares them with folds of the log."""
        ...

    @property
    def projections(self) -> Projections:
        """Pauses and resumes projections."""
        ...

    @property
    def control_queues(self) -> ControlQueues:
        """Pauses, resumes and limits queues."""
        ...

    @property
    def drain_worker(self) -> DrainWorker:
        """Has a worker claim nothing more."""
        ...

    @property
    def providers(self) -> ConfigureProviders:
        """Configures providers of goods, and their credentials."""
        ...

    @property
    def limit_providers(self) -> LimitProviders:
        """Sets what may be spent at providers, and tells how they stand."""
        ...

    @property
    def restore_guard(self) -> Quarantining:
        """Stops and resumes buying around restores."""
        ...

    @property
    def callbacks(self) -> Callbacks:
        """Takes what providers tell by themselves, and replays it."""
        ...

    @property
    def access(self) -> Access:
        """Knows tokens, people and sessions, and how often they may ask."""
        ...


class Installation(Protocol):
    """The doors that the command line opens; each may raise a CounterfoilError."""

    @property
    def simulators(self) -> Simulators:
        """The stand-ins for providers."""
        ...

    def open(self) -> AbstractContextManager[Services]:
        """Give the services over a database whose schema is this version's."""
        ...

    def work(
        self,
        announce: Callable[[Services, str | None], None],
        *,
        roles: Collection[str] = ROLES,
        up_to_date: bool = False,
        ephemeral: bool = False,
        serve: Callable[[Any, str, int], Server] | None = None,
    ) -> None:
        """Run a process until a signal stops it; ends the process.

        With `serve` it answers HTTP: called with the services, host and port.
        """
        ...

    def make_key(self, key_id: str | None) -> str:
        """Return a new key under that id, or a random one, as the setting takes it."""
        ...

    def examine(self) -> Iterable[Finding]:
        """Yield what is well here, and what is not; nothing is changed."""
        ...

    def kinds(self) -> KindTable:
        """Return every kind that is known here; needs no database."""
        ...

    def migrate(self, *, only_check: bool) -> SchemaState:
        """Return where the schema stands, after migrating unless `only_check`."""
        ...

    def demo(
        self, tell: Callable[[str], None], show: Callable[[DemoProgress], None]
    ) -> PlayedDemo:
        """Play the demo to its end; see `counterfoil demo --help`."""
        ...
