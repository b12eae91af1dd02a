"""What the API needs of an installation beside what the command line needs."""

from typing import Protocol

from api.installation import Services
from application.intake.intake import Intake
from application.once.answers import Answers
from domain.errors import CounterfoilError


class HttpServices(Services, Protocol):
    """An opened installation that answers HTTP."""

    @property
    def intake(self) -> Intake:
        """Settles, refunds and enqueues for whoever may."""
        ...

    @property
    def answers(self) -> Answers:
        """Tells what requests were answered with, by their keys."""
        ...

    @property
    def is_read_only(self) -> bool:
        """Whether this process changes nothing."""
        ...

    def translated(self, error: Exception) -> CounterfoilError | None:
        """Return a fault of the machine in our words; None: it is none."""
        ...

    def fault(self, request_id: str, error: Exception) -> None:
        """Tell the log of a fault of ours."""
        ...
