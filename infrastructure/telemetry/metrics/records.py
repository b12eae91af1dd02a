"""What this process writes, and what was refused."""

from infrastructure.telemetry.measures import (
    AppendConflicted,
    ConnectionLent,
    EventsAppended,
    GoodsAnswered,
    OperatorActed,
    ProjectionFailed,
    ProviderAsked,
    UnitRepeated,
)
from infrastructure.telemetry.metrics.families import QUICK, RUNS, Families


class RecordMetrics:
    """Sets the families of events and units of work."""

    def __init__(self, families: Families) -> None:
        """Declare them."""
        self._appended = families.counter(
            "events_appended_total",
            "Events that this process has committed, but for those of SQL functions.",
            "category",
            most=20,
        )
        self._conflicts = families.counter(
            "append_conflicts_total",
            "Groups refused because their streams had moved on.",
            "category",
            most=20,
        )
        self._repeated = families.counter(
            "db_transaction_retries_total",
            "Transactions that lost a race and were repeated.",
            *("name", "sqlstate"),
            most=20,
        )
        self._actions = families.counter(
            "operator_actions_total",
            "Actions of operators that are on record.",
            *("action", "outcome"),
            most=150,
        )
        self._goods = families.counter(
            "delivery_submissions_total",
            "Purchases of goods, by what became of them.",
            *("provider", "outcome"),
        )

    def appended(self, appended: EventsAppended) -> None:
        """Count events."""
        for category, n in appended.events.items():
            self._appended.add(category, n=n)

    def conflicted(self, conflicted: AppendConflicted) -> None:
        """Count a refused group."""
        self._conflicts.add(conflicted.category)

    def repeated(self, repeated: UnitRepeated) -> None:
        """Count a race that was lost."""
        self._repeated.add(repeated.name, repeated.sqlstate)

    def acted(self, acted: OperatorActed) -> None:
        """Count an action."""
        self._actions.add(acted.action, acted.outcome)

    def goods(self, answered: GoodsAnswered) -> None:
        """Count what became of a purchase."""
        self._goods.add(answered.provider, answered.outcome)


class EdgeMetrics:
    """Sets the families of providers, projections and the pool."""

    def __init__(self, families: Families) -> None:
        """Declare them."""
        self._asked = families.counter(
            "provider_requests_total",
            "Requests to providers.",
            *("provider", "operation", "outcome"),
            most=150,
        )
        self._provider_seconds = families.histogram(
            "provider_request_duration_seconds",
            "Requests to providers.",
            *("provider", "operation", "outcome"),
            bounds=RUNS,
            most=60,
        )
        self._projections = families.counter(
            "projection_errors_total",
            "Batches of projections that failed.",
            "projection",
            most=30,
        )
        self._pool_seconds = families.histogram(
            "db_pool_wait_seconds",
            "How long a pooled connection was waited for.",
            bounds=QUICK,
        )
        self._pool_timeouts = families.counter(
            "db_pool_timeouts_total", "Connections that were not lent in time."
        )

    def asked(self, asked: ProviderAsked) -> None:
        """Count a request to a provider."""
        labels = (asked.provider, asked.operation, asked.outcome)
        self._asked.add(*labels)
        self._provider_seconds.add((asked.seconds,), *labels)

    def failed(self, failed: ProjectionFailed) -> None:
        """Count a failed batch."""
        self._projections.add(failed.projection)

    def lent(self, lent: ConnectionLent) -> None:
        """Count a connection of the pool."""
        self._pool_seconds.add((lent.seconds,))
        if lent.is_timeout:
            self._pool_timeouts.add()
