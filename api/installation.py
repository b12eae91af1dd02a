"""What the edge needs of an installation; wired by infrastructure.bootstrap."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

from application.front_door import RefundOne, SettleOne
from application.job_kinds import KindTable
from application.operators.action import Action
from application.operators.operate import Operate
from projections.event_log import EventLog
from projections.job_history import JobHistory
from projections.job_list import JobList
from projections.why import Why


class Place(Protocol):
    """Where the database is."""

    @property
    def uri(self) -> str:
        """Address of the database; shown only when it holds no password."""
        ...

    @property
    def home(self) -> Path | None:
        """Folder of the embedded server; None when a server was given."""
        ...

    @property
    def is_ephemeral(self) -> bool:
        """Whether everything is gone when the process ends."""
        ...

    @property
    def notices(self) -> tuple[str, ...]:
        """What a person must be told about it."""
        ...


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


class SchemaState(Protocol):
    """Where the database's schema stands."""

    @property
    def place(self) -> Place:
        """Where the database is."""
        ...

    @property
    def newest(self) -> str:
        """The last migration of this version."""
        ...

    @property
    def applied(self) -> tuple[str, ...]:
        """Migrations that the database had before."""
        ...

    @property
    def pending(self) -> tuple[str, ...]:
        """Migrations that it lacks."""
        ...

    @property
    def done(self) -> tuple[str, ...]:
        """Migrations that were applied now."""
        ...

    @property
    def adopted(self) -> bool:
        """Whether a hand-made schema was taken over."""
        ...


class DemoProgress(Protocol):
    """How far a demo is."""

    @property
    def settled(self) -> int:
        """Orders that are settled."""
        ...

    @property
    def fulfilled(self) -> int:
        """Orders that are fulfilled."""
        ...

    @property
    def unfinished(self) -> int:
        """Jobs that are not finished."""
        ...

    @property
    def dead(self) -> int:
        """Jobs that wait for a person."""
        ...


class Finding(Protocol):
    """One question that was put to the log and to the panel's book."""

    @property
    def question(self) -> str:
        """What was asked."""
        ...

    @property
    def compared(self) -> int:
        """How many things were compared."""
        ...

    @property
    def disagreements(self) -> tuple[str, ...]:
        """What disagrees, a sentence each."""
        ...


class DemoResult(Protocol):
    """What a demo ends with."""

    @property
    def figures(self) -> Sequence[tuple[str, str]]:
        """Names and figures."""
        ...

    @property
    def findings(self) -> Sequence[Finding]:
        """What was compared, and what disagrees."""
        ...

    @property
    def exit_codes(self) -> Sequence[int]:
        """How the workers ended."""
        ...

    @property
    def seconds(self) -> float:
        """How long it took."""
        ...

    @property
    def is_right(self) -> bool:
        """Whether nothing disagrees."""
        ...


class PlayedDemo(Protocol):
    """A demo that has ended, and the data folder that it left."""

    @property
    def result(self) -> DemoResult:
        """What it ended with."""
        ...

    @property
    def folder(self) -> Path:
        """Where its database, its panel's book and its logs are."""
        ...


class Installation(Protocol):
    """The doors that the command line opens; each may raise a CounterfoilError."""

    @property
    def fault_names(self) -> tuple[str, ...]:
        """The faults of a simulated panel."""
        ...

    def open(self) -> AbstractContextManager[Services]:
        """Give the services over a database whose schema is this version's."""
        ...

    def work(
        self,
        announce: Callable[[Services], None],
        *,
        up_to_date: bool = False,
        ephemeral: bool = False,
    ) -> None:
        """Run a worker until a signal stops it; ends the process."""
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

    def simulate_panel(  # noqa: PLR0913 - the options of the command, one to one
        self,
        *,
        port: int,
        book: Path,
        token: str,
        fault_rate: float,
        faults: tuple[str, ...],
        seed: int,
        latency_ms: float,
        ready: Callable[[int], None],
    ) -> None:
        """Run a simulated panel until a signal stops it."""
        ...
