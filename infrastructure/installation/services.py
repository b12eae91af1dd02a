"""Everything that an opened installation can be asked for."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from application.access.access import Access
from application.access.looks import ViewPayload
from application.bulk.request import RequestBulk
from application.bulk.steer import SteerBulk
from application.callbacks.all import Callbacks
from application.evidence.add import AddEvidence
from application.evidence.look import LookAtEvidence
from application.front_door import RefundOne, SettleOne
from application.intake.intake import Intake
from application.job_kinds import Kinds
from application.once.answers import Answers
from application.operators.action import Action
from application.operators.deliveries.decide import DecideReview
from application.operators.deliveries.reconcile import ReconcileDelivery
from application.operators.drifts import ReconcileDrift
from application.operators.jobs.letters import Letters, letters_over
from application.operators.jobs.snooze import SnoozeJob
from application.operators.maintenance import Maintenance
from application.operators.operate import Operate
from application.operators.projections import Projections
from application.operators.quarantine import Quarantining
from application.providers.configuring import ConfigureProviders
from application.providers.limiting import LimitProviders
from application.queues.control import ControlQueues
from application.queues.drain import DrainWorker
from domain.errors import CounterfoilError
from infrastructure.bulk.wiring import request_bulk_over, steer_bulk_over
from infrastructure.errors import translated, where
from infrastructure.extensions.extensions import Extensions
from infrastructure.front_door import intake_over
from infrastructure.guards.wiring import Guarding
from infrastructure.ids import new_id
from infrastructure.installation.place import Place
from infrastructure.installation.secret import CursorSecret
from infrastructure.kinds import Parts, runnable_kinds
from infrastructure.listening.internal import Internal
from infrastructure.live.feed import Feed
from infrastructure.once.answers import PostgresAnswers
from infrastructure.postgres.database import Database
from infrastructure.projecting.builds.builds import Builds
from infrastructure.projecting.waiting import PATIENCE_SECONDS, at_least
from infrastructure.queues.wiring import control_queues_over, drain_worker_over
from infrastructure.reviews.evidence import evidence_over, look_at_evidence_over
from infrastructure.reviews.files import EvidenceUnreadableError
from infrastructure.telemetry import emit
from infrastructure.telemetry.requests import Requests
from projections.event_log import EventLog
from projections.job_history import JobHistory
from projections.job_list import JobList
from projections.maintenance import MaintenanceState
from projections.pending import Pending
from projections.queries.all import Queries, queries_over
from projections.queries.changes import Changes
from projections.reading import AtLeast
from projections.why import Why


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """One installation, wired over one pool of connections."""

    place: Place
    migrated: tuple[str, ...] = ()
    """Migrations that were applied on the way in."""
    internal: Internal = field(default_factory=Internal)
    """What this process answers about itself."""
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
    retry: Action
    cancel: Action
    operate: Operate
    decide: DecideReview
    reconcile_delivery: ReconcileDelivery
    maintenance: Maintenance
    projections: Projections
    providers: ConfigureProviders
    guarding: Guarding
    restore_guard: Quarantining
    callbacks: Callbacks
    access: Access
    feed: Feed
    """Tells what happens now."""
    is_read_only: bool
    """Whether the API of this process changes nothing."""
    cursor_secret: CursorSecret
    """What cursors of lists are signed with."""
    patience_seconds: float = PATIENCE_SECONDS
    """How long a read waits for a position."""

    @property
    def intake(self) -> Intake:
        """Settles, refunds and enqueues for whoever may."""
        return intake_over(self.database, self.parts.units)

    @property
    def snooze(self) -> SnoozeJob:
        """Lets jobs wait longer."""
        return SnoozeJob(self.retry.targets, self.parts.units, self.parts.ids)

    @property
    def letters(self) -> Letters:
        """Sees to what is dead."""
        return letters_over(self.retry)

    @property
    def answers(self) -> Answers:
        """Tells what requests were answered with, by their keys."""
        return PostgresAnswers(self.database)

    @property
    def counts(self) -> Requests:
        """Counts requests."""
        return Requests()

    @property
    def readiness(self) -> Mapping[str, str | None]:
        """Of each check whether it is well (None), or the class of what is wrong."""
        return dict(self.internal.probes.ready().checks)

    @property
    def probed_at(self) -> str | None:
        """Where this process answers probes; None: nowhere."""
        return self.internal.address

    @property
    def changes(self) -> Changes:
        """Reads on in the log."""
        return Changes(self.database.connection)

    @property
    def jobs(self) -> JobList:
        """Lists jobs."""
        return JobList(self.database.connection)

    @property
    def job(self) -> JobHistory:
        """Reads the stream of one job."""
        return JobHistory(self.database.connection)

    @property
    def events(self) -> EventLog:
        """Reads the log."""
        return EventLog(self.database.connection)

    @property
    def why(self) -> Why:
        """Tells what happened, and what happens next."""
        return Why(self.database.connection)

    @property
    def pending(self) -> Pending:
        """Counts what is pending, beside the limits."""
        return Pending(self.database.connection)

    @property
    def maintenance_state(self) -> MaintenanceState:
        """Tells what is closed for maintenance."""
        return MaintenanceState(self.database.connection)

    @property
    def queries(self) -> Queries:
        """Asks read models, and who holds the feed back."""
        return queries_over(self.database.connection)

    @property
    def builds(self) -> Builds:
        """Makes read models anew, and compares them with folds of the log."""
        return Builds(self.database)

    @property
    def reconcile_drift(self) -> ReconcileDrift:
        """Asks for the repair of what the panel differs in."""
        return ReconcileDrift(self.operate)

    @property
    def request_bulk(self) -> RequestBulk:
        """Asks for one action on many things."""
        return request_bulk_over(self.database, self.kinds)

    @property
    def steer_bulk(self) -> SteerBulk:
        """Approves of bulk operations, starts, pauses, resumes and cancels them."""
        return steer_bulk_over(self.database)

    @property
    def control_queues(self) -> ControlQueues:
        """Pauses, resumes and limits queues."""
        return control_queues_over(self.database, self.parts.units)

    @property
    def drain_worker(self) -> DrainWorker:
        """Has a worker claim nothing more."""
        return drain_worker_over(self.database, self.parts.units)

    @property
    def view_payload(self) -> ViewPayload:
        """Puts looks at what events hold on record."""
        return ViewPayload(self.parts.units, new_id)

    def translated(self, error: Exception) -> CounterfoilError | None:
        """Return a fault of the machine in our words; None: it is none."""
        return translated(error)

    def fault(self, request_id: str, error: Exception) -> None:
        """Tell the log of a fault of ours; neither its words nor its data (I12).

        What we say ourselves of a file of evidence is safe, and names the file.
        """
        detail = str(error) if isinstance(error, EvidenceUnreadableError) else None
        emit("request failed", request_id=request_id, error=where(error), detail=detail)

    def at_least(self, position: int | None) -> AtLeast | None:
        """Return what lets one read wait for a position; None: it need not."""
        if position is None:
            return None
        return at_least(self.database.connection, position, self.patience_seconds)

    @property
    def add_evidence(self) -> AddEvidence:
        """Adds files to deliveries; they lie beside the journal."""
        return evidence_over(self.database, self.parts.units, self._data_dir)

    @property
    def look_at_evidence(self) -> LookAtEvidence:
        """Shows files of deliveries, each look on record."""
        return look_at_evidence_over(self.database, self.parts.units, self._data_dir)

    @property
    def _data_dir(self) -> Path:
        return self.guarding.journal.path.parent

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
