"""What this process writes, and what was refused."""

from infrastructure.telemetry.measures import (
    AppendConflicted,
    CallbackTaken,
    ConnectionLent,
    EventsAppended,
    GoodsAnswered,
    OperatorActed,
    OrderFulfilled,
    ProjectionFailed,
    ProviderAsked,
    UnitRepeated,
)
from infrastructure.telemetry.metrics.families import ENDS, QUICK, RUNS, Families


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
        self._fulfilled = families.histogram(
            "order_to_fulfilled_seconds",
            "From when an order was paid, or was to take effect, to its fulfilment.",
            "kind",
            bounds=ENDS,
            most=8,
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

    def fulfilled(self, fulfilled: OrderFulfilled) -> None:
        """Count an order that is done."""
        self._fulfilled.add((fulfilled.seconds,), fulfilled.kind)


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
        self._callbacks = families.counter(
            "inbound_webhooks_total",
            "What providers tell by themselves, by what became of it.",
            *("provider", "outcome"),
            most=100,
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
            "pool",
            bounds=QUICK,
            most=4,
        )
        self._pool_timeouts = families.counter(
            "db_pool_timeouts_total",
            "Connections that were not lent in time.",
            "pool",
            most=4,
        )

    def asked(self, asked: ProviderAsked) -> None:
        """Count a request to a provider."""
        labels = (asked.provider, asked.operation, asked.outcome)
        self._asked.add(*labels)
        self._provider_seconds.add((asked.seconds,), *labels)

    def told(self, taken: CallbackTaken) -> None:
        """Count what a provider has told."""
        self._callbacks.add(taken.provider, taken.outcome)

    def failed(self, failed: ProjectionFailed) -> None:
        """Count a failed batch."""
        self._projections.add(failed.projection)

    def lent(self, lent: ConnectionLent) -> None:
        """Count a connection of the pool."""
        self._pool_seconds.add((lent.seconds,), lent.pool)
        self._pool_timeouts.add(lent.pool, n=lent.is_timeout)
