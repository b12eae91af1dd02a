"""One event of every tag as it was first written, and the meta data beside them.

What is here is stored somewhere: a tag or a field is never renamed, a type never
changed.  A new meaning gets the next schema number, and its own entry.
"""

from datetime import UTC, datetime
from uuid import UUID

from msgspec.structs import replace

from domain.entitlement import events as entitlement
from domain.entitlement.state import Desired, Observed, Upcoming
from domain.event import Actor, Causation, Event, Meta
from domain.fulfillment import events as fulfillment
from domain.goods.events import Product
from domain.jobs import events as jobs
from domain.maintenance import events as maintenance
from domain.operators import events as operators
from domain.order import events as order
from tests.golden.pinned_bulk import BULK
from tests.golden.pinned_goods import GOODS
from tests.golden.pinned_guards import GUARDS

AT = datetime(2026, 3, 1, 12, 30, 15, 250_000, tzinfo=UTC)
LATER = datetime(2026, 4, 1, tzinfo=UTC)
ORDER = UUID("0195bd5e-5c4a-7000-8000-000000000001")
ENTITLEMENT = UUID("0195bd5e-5c4a-7000-8000-000000000002")
OPERATION = UUID("0195bd5e-5c4a-7000-8000-000000000003")
COVERING = UUID("0195bd5e-5c4a-7000-8000-000000000004")
JOB = UUID("0195bd5e-5c4a-7000-8000-000000000005")
BOOT = UUID("0195bd5e-5c4a-7000-8000-000000000006")
CALLBACK = UUID("0195bd5e-5c4a-7000-8000-000000000008")
COMMIT = UUID("0195bd5e-5c4a-7000-8000-000000000007")

META = Meta(
    actor=Actor("operator", "olga"),
    correlation_id="A-1042",
    causation=Causation(event=41, request_id="req-7", job=JOB, token=2),
    commit_id=COMMIT,
    reason="the customer asked",
    trace="00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
)

DESIRED = Desired(
    ends_at=LATER,
    grace_seconds=3600,
    traffic_bytes=107_374_182_400,
    device_limit=3,
    squad_ids=("core", "eu-west"),
    reset_traffic=True,
)
UPCOMING = Upcoming(
    version=2,
    desired=Desired(
        ends_at=datetime(2026, 5, 1, tzinfo=UTC),
        grace_seconds=3600,
        traffic_bytes=107_374_182_400,
        device_limit=3,
        squad_ids=("core", "eu-west"),
    ),
    effective_at=LATER,
    paid_at=AT,
)
OBSERVED = Observed(
    panel_user_id=77,
    status="ACTIVE",
    expire_at=LATER,
    traffic_limit_bytes=107_374_182_400,
    device_limit=3,
    squads=2,
)
LINE = order.Line(
    line=1,
    days=30,
    ends_at=None,
    grace_seconds=3600,
    traffic_bytes=107_374_182_400,
    device_limit=3,
    squad_ids=("core", "eu-west"),
    reset_traffic=True,
)
LINE_UNTIL = order.Line(
    line=2,
    days=None,
    ends_at=LATER,
    grace_seconds=0,
    traffic_bytes=None,
    device_limit=None,
    squad_ids=(),
    reset_traffic=False,
)
SOLD = order.GoodsLine(
    line=3,
    provider="starshop",
    product=Product(kind="telegram_stars", quantity=50),
    recipient="customer_77",
    quantity=4,
    cost_minor=75,
    price_minor=99,
)

ADDON = order.AddonLine(
    line=1,
    type="access",
    days=7,
    grace_seconds=3600,
    traffic_bytes=214_748_364_800,
    device_limit=None,
    squad_ids=("core",),
)
ADDON_UNTIL = order.AddonLine(line=2, type="access", ends_at=LATER)

PAID = order.Paid(
    order_id="A-1042",
    customer_id="C-77",
    slot=1,
    kind="purchase",
    currency="EUR",
    amount_minor=1490,
    discount_minor=200,
    effective_at=AT,
    lines=(LINE, LINE_UNTIL, SOLD),
)

ORDERS: tuple[Event, ...] = (
    PAID,
    order.AddonPurchased(
        order_id="A-1044",
        customer_id="C-77",
        slot=1,
        kind="addon",
        currency="EUR",
        amount_minor=390,
        discount_minor=10,
        effective_at=AT,
        lines=(ADDON, ADDON_UNTIL),
    ),
    order.WalletCredited(
        order_id="A-1043",
        customer_id="C-77",
        slot=1,
        currency="EUR",
        amount_minor=5000,
        discount_minor=0,
    ),
    order.Fulfilled(operation=OPERATION),
    order.Refunded(lines=(1, 2), amount_minor=1290, reason="the customer asked"),
)

ENTITLEMENTS: tuple[Event, ...] = (
    entitlement.Granted(
        customer_id="C-77", slot=1, username="cf_c77_1", legacy_username="user_77"
    ),
    entitlement.DesiredChanged(
        desired_version=1,
        desired=DESIRED,
        paid_at=AT,
        order=ORDER,
        upcoming=(UPCOMING,),
        paused_at=AT,
    ),
    entitlement.Paused(desired_version=2, paused_at=AT),
    entitlement.Resumed(desired_version=3, desired=DESIRED, upcoming=(UPCOMING,)),
    entitlement.Disabled(desired_version=4),
    entitlement.Enabled(desired_version=5),
    entitlement.Seen(observed=OBSERVED),
    entitlement.DriftDetected(
        kind="traffic", expected={"value": 107_374_182_400}, observed={"value": 0}
    ),
    entitlement.DriftResolved(kind="traffic"),
)

OPERATIONS: tuple[Event, ...] = (
    fulfillment.Requested(
        entitlement=ENTITLEMENT,
        order=ORDER,
        operation="create",
        desired_version=1,
        desired=DESIRED,
        effective_at=AT,
        idempotency_key="A-1042:create",
    ),
    fulfillment.AttemptStarted(attempt=1, calls=("find_user", "create_user")),
    fulfillment.AttemptFailed(attempt=1, code="remnawave_http_503", retry_at=LATER),
    fulfillment.Interrupted(attempt=2, cause="lease_lost"),
    fulfillment.Parked(cause="panel_credentials"),
    fulfillment.Succeeded(attempt=3, observed=OBSERVED),
    fulfillment.Failed(attempt=12, code="attempts_exhausted"),
    fulfillment.Cancelled(code="covered_by", covered_by=COVERING),
    fulfillment.Retried(),
)

JOBS: tuple[Event, ...] = (
    jobs.Enqueued(
        kind="fulfillment",
        queue="critical",
        priority=1,
        args={"operation": str(OPERATION), "nested": {"list": [1, 2.5, None, True]}},
        unique_key=f"fulfillment:{OPERATION}",
        serial_key=str(ENTITLEMENT),
        serial_order=1,
        run_at=AT,
        max_attempts=12,
        deadline=LATER,
        concurrency_limit=3,
    ),
    jobs.Claimed(
        attempt=1,
        owner=jobs.Owner(host="worker-1", pid=4711, boot=BOOT),
        token=2,
        lease_seconds=60,
    ),
    jobs.Succeeded(attempt=1, token=2, result={"status": "done"}),
    jobs.AttemptFailed(
        attempt=1,
        token=2,
        code="handler_crashed",
        error="ValueError: naïve – 3 < 2",
        retry_at=LATER,
    ),
    jobs.Snoozed(attempt=0, token=2, until=LATER, cause="not_yet"),
    jobs.Parked(
        attempt=0,
        token=2,
        until=LATER,
        cause="panel_configuration",
        parkings=1,
        gate="panel",
    ),
    jobs.Unparked(run_at=LATER),
    jobs.Rescheduled(attempt=1, run_at=LATER, cause="snoozed"),
    jobs.Released(attempt=0, token=2, until=AT, cause="shutdown"),
    jobs.LeaseExpired(
        attempt=1,
        token=2,
        cause="process_gone",
        retry_at=LATER,
        crashes=2,
        is_suspect=True,
    ),
    jobs.Discarded(
        attempt=12,
        token=24,
        code="budget_spent",
        error_code="remnawave_http_503",
        error="the panel did not answer",
    ),
    jobs.CancelRequested(),
    jobs.Cancelled(attempt=1, code="cancelled_by_operator"),
    jobs.Retried(run_at=AT),
)

MAINTENANCE: tuple[Event, ...] = (
    maintenance.Opened(
        scope="panel",
        source="manual",
        reason="the panel moves to another host",
        notice_ru="Идут технические работы.",
        notice_en="Maintenance is under way.",
        expected_return=LATER,
    ),
    maintenance.Closed(),
)

OPERATORS: tuple[Event, ...] = (
    operators.ActionTaken(
        action="panel.fulfillment.retried",
        category="system",
        target_kind="operation",
        target="0195bd5e-5c4a-7000-8000-000000000003",
        before={"state": "failed", "attempt": 12},
        after={"state": "pending", "attempt": 0},
    ),
    operators.ActionRefused(
        action="retry", target=str(OPERATION), code="state_conflict"
    ),
    operators.PayloadViewed(position=41, stream=OPERATION, type="order.paid"),
    operators.ProjectionPaused(projection="jobs", slot="a", position=1_041),
    operators.ProjectionResumed(
        projection="jobs", slot="a", position=1_041, set_aside=2
    ),
    operators.ProjectionPromoted(
        projection="jobs", schema_number=2, slot="b", position=1_042
    ),
    operators.ProviderConfigured(provider="stars", adapter="fragment"),
    operators.ProviderEnabled(provider="stars"),
    operators.ProviderDisabled(provider="stars"),
    operators.CredentialSet(
        provider="stars", host="gateway.example:8443", currency="EUR", key="k2026"
    ),
    operators.CredentialRotated(provider="stars", key="k2026"),
    operators.CredentialResealed(provider="stars", key="k2027", before="k2026"),
    operators.CallbackReplayed(
        provider="stars", callback=CALLBACK, before="unknown_key"
    ),
    operators.LetterAcknowledged(letter=OPERATION),
    operators.LetterDismissed(letter=OPERATION),
    operators.CallbackContradicted(
        provider="stars", callback=CALLBACK, delivery=ORDER, said="delivered"
    ),
)

EARLIER: dict[tuple[str, int], Event] = {
    (event.tag, event.schema): event
    for event in (
        replace(PAID, lines=(LINE, LINE_UNTIL)),
        entitlement.DesiredChanged(
            desired_version=1, desired=DESIRED, paid_at=AT, order=ORDER
        ),
        jobs.LeaseExpired(attempt=1, token=2, cause="process_gone", retry_at=LATER),
        jobs.Parked(
            attempt=0, token=2, until=LATER, cause="panel_configuration", parkings=1
        ),
        jobs.Enqueued(
            kind="report",
            queue="default",
            priority=2,
            args={"n": 7},
            unique_key=None,
            serial_key="anna",
            serial_order=0,
            run_at=AT,
            max_attempts=None,
            deadline=None,
        ),
    )
}
"""What was written before its event had the members that it has now."""

PINNED: dict[tuple[str, int], Event] = {
    (event.tag, event.schema): event
    for event in (
        *ORDERS,
        *ENTITLEMENTS,
        *OPERATIONS,
        *GOODS,
        *JOBS,
        *MAINTENANCE,
        *OPERATORS,
        *GUARDS,
        *BULK,
    )
}
