"""What the API needs of an installation beside what the command line needs."""

from collections.abc import Callable, Mapping
from typing import Protocol

from api.http.counted import Counts
from api.installation import Services
from application.access.looks import ViewPayload
from application.bulk.request import RequestBulk
from application.bulk.steer import SteerBulk
from application.evidence.add import AddEvidence
from application.evidence.look import LookAtEvidence
from application.intake.intake import Intake
from application.once.answers import Answers
from application.operators.drifts import ReconcileDrift
from application.operators.jobs.letters import Letters
from application.operators.jobs.snooze import SnoozeJob
from domain.errors import CounterfoilError
from projections.queries.changes import Beyond, Changes


class FeedLimits(Protocol):
    """How much one process tells, and how far back it goes."""

    @property
    def followers(self) -> int:
        """At once."""
        ...

    @property
    def positions(self) -> int:
        """That a follower may lag behind; beyond that it loads anew."""
        ...

    @property
    def hours(self) -> int:
        """That what was missed may be old."""
        ...


class Feed(Protocol):
    """Tells what happens, from the moment that somebody follows."""

    @property
    def limits(self) -> FeedLimits:
        """How much is told."""
        ...

    @property
    def n_followers(self) -> int:
        """How many follow."""
        ...

    def follow(self, listener: Callable[[Beyond | None], None]) -> int:
        """Tell `listener` from now on; return the position beyond which it is told."""
        ...

    def leave(self, listener: Callable[[Beyond | None], None]) -> None:
        """Tell `listener` nothing more."""
        ...

    def close(self) -> None:
        """Tell everybody that nothing more will be told."""
        ...


class HttpServices(Services, Protocol):
    """An opened installation that answers HTTP."""

    @property
    def intake(self) -> Intake:
        """Settles, refunds and enqueues for whoever may."""
        ...

    @property
    def snooze(self) -> SnoozeJob:
        """Lets jobs wait longer."""
        ...

    @property
    def letters(self) -> Letters:
        """Sees to what is dead."""
        ...

    @property
    def answers(self) -> Answers:
        """Tells what requests were answered with, by their keys."""
        ...

    @property
    def feed(self) -> Feed:
        """Tells what happens now."""
        ...

    @property
    def changes(self) -> Changes:
        """Reads what has happened."""
        ...

    @property
    def request_bulk(self) -> RequestBulk:
        """Asks for one action on many things."""
        ...

    @property
    def steer_bulk(self) -> SteerBulk:
        """Approves of bulk operations, starts, pauses, resumes and cancels them."""
        ...

    @property
    def add_evidence(self) -> AddEvidence:
        """Adds files to deliveries."""
        ...

    @property
    def look_at_evidence(self) -> LookAtEvidence:
        """Shows files of deliveries, each look on record."""
        ...

    @property
    def is_read_only(self) -> bool:
        """Whether this process changes nothing."""
        ...

    @property
    def reconcile_drift(self) -> ReconcileDrift:
        """Asks for the repair of what the panel differs in."""
        ...

    @property
    def view_payload(self) -> ViewPayload:
        """Puts looks at what events hold on record."""
        ...

    def cursor_secret(self) -> bytes:
        """Return what cursors of lists are signed with."""
        ...

    @property
    def counts(self) -> Counts:
        """Counts requests."""
        ...

    @property
    def readiness(self) -> Mapping[str, str | None]:
        """Of each check whether it is well (None), or the class of what is wrong."""
        ...

    def translated(self, error: Exception) -> CounterfoilError | None:
        """Return a fault of the machine in our words; None: it is none."""
        ...

    def fault(self, request_id: str, error: Exception) -> None:
        """Tell the log of a fault of ours."""
        ...
