"""The names that a package of your own imports: kinds, outcomes, and the client.

    counterfoil            what a job kind is made of, and how a job is asked for
    counterfoil.panel      what an adapter of the panel is made of
    counterfoil.testing    runs a handler without a database
    counterfoil.http       speaks to the REST API, for shops and programs

They are kept when the modules behind them move; import nothing else from this
distribution.
"""

from application.context import Context
from application.front_door import Enqueued, KeyReusedError, Settled
from application.job_kinds import JobKind, by_name
from domain.errors import CounterfoilError, InvalidRequestError
from domain.jobs.backoff import Backoff
from domain.jobs.outcome import (
    Ambiguous,
    Cancel,
    Completed,
    Fail,
    Outcome,
    Park,
    Retry,
    Snooze,
)
from domain.jobs.verdict import Budget
from infrastructure.client import Client
from infrastructure.settings import Settings

__all__ = [
    "Ambiguous",
    "Backoff",
    "Budget",
    "Cancel",
    "Client",
    "Completed",
    "Context",
    "CounterfoilError",
    "Enqueued",
    "Fail",
    "InvalidRequestError",
    "JobKind",
    "KeyReusedError",
    "Outcome",
    "Park",
    "Retry",
    "Settings",
    "Settled",
    "Snooze",
    "by_name",
]
