"""The ports in memory: a log with heads, a panel that says what it is told to."""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import count
from operator import itemgetter
from uuid import UUID

from msgspec.structs import replace

from application.ports import (
    Access,
    CallGuard,
    Confirmed,
    Halted,
    LookAnswer,
    Missing,
    OperationRow,
    OrderKeys,
    PanelAnswer,
    Rejected,
    SettledOrder,
    Shown,
    Unavailable,
    Unknown,
)
from application.unit import Group, Head, Refused, Result, Written, is_current
from domain.entitlement.state import Entitlement, Observed, Sight
from domain.event import Event, Instant, JsonObject
from domain.fulfillment.aggregate import FulfillmentOperation
from domain.goods.state import GoodsDelivery
from domain.ids import uuid7_from
from domain.jobs.aggregate import Job
from domain.jobs.events import Enqueued
from domain.order.aggregate import Order
from domain.order.events import (
    AddonPurchased,
    OrderEvent,
    Paid,
    Refunded,
    WalletCredited,
)
from domain.stream import Change, Ref, StreamKind

START = datetime(2026, 8, 1, 12, tzinfo=UTC)


class Ids:
    """UUIDv7 in order, all different in every digit that a user name takes."""

    def __init__(self) -> None:
        self._numbers = count(1)

    def __call__(self) -> UUID:
        number = next(self._numbers)
        return uuid7_from(1_700_000_000_000 + number, number)


@dataclass(frozen=True)
class Stored:
    """One event of the log."""

    ref: Ref
    event: Event
    at: Instant


@dataclass
class MemoryLog:
    """Streams and units of work over one list of events."""

    now: Instant = START
    stored: list[Stored] = field(default_factory=list[Stored])
    heads: dict[Ref, Head] = field(default_factory=dict[Ref, Head])
    after_reading: deque[Callable[[], object]] = field(
        default_factory=deque[Callable[[], object]]
    )
    """What others do right after the next readings of an entitlement's operations."""
    keys: dict[tuple[str, str], OrderKeys] = field(
        default_factory=dict[tuple[str, str], OrderKeys]
    )
    """What was asked for, by tenant and the shop's order id."""
    gates: dict[str, str] = field(default_factory=dict[str, str])
    """The closed gates, and why they are."""
    _is_racing: bool = False

    def commit(self, groups: Sequence[Group]) -> list[Result]:
        return [self._commit(group) for group in groups]

    def _commit(self, group: Group) -> Result:
        locked = {ref: self.heads[ref] for ref in group.refs if ref in self.heads}
        decided = group.decide(locked, self.now)
        if isinstance(decided, Refused):
            return decided
        for change in decided:
            is_known = change.ref in group.refs or change.expected == 0
            assert is_known, "a change of a stream that is not locked"
            assert is_current(locked, change), "a change of a version that is gone"
            self.write(change, group.meta.correlation_id)
        return Written(decided, len(self.stored))

    def write(self, change: Change, correlation_id: str = "c") -> None:
        """Store a change, as a fold of its stream would have it."""
        assert change.events, "a change without events"
        assert change.state.version == change.expected + len(change.events)
        before = self.heads.get(change.ref)
        assert (before.state.version if before else 0) == change.expected
        self.stored += [Stored(change.ref, it, self.now) for it in change.events]
        self.heads[change.ref] = Head(
            tenant_id=change.tenant_id,
            state=change.state,
            correlation_id=before.correlation_id if before else correlation_id,
        )

    def events_of(self, ref: Ref) -> list[Event]:
        return [stored.event for stored in self.stored if stored.ref == ref]

    def last_position(self, streams: Sequence[UUID]) -> int:
        places = enumerate(self.stored, 1)
        return max((n for n, stored in places if stored.ref.id in streams), default=0)

    def order(self, stream_id: UUID) -> SettledOrder | None:
        ref = Ref(StreamKind.ORDER, stream_id)
        births = [stored for stored in self.stored if stored.ref == ref]
        if not births:
            return None
        head = self.heads[ref]
        return SettledOrder(
            ref=ref,
            tenant_id=head.tenant_id,
            correlation_id=head.correlation_id,
            version=head.state.version,
            birth=_birth(births[0].event),
            settled_at=births[0].at,
            read_at=self.now,
            position=1,
            refunded_lines=frozenset(
                line
                for event in self.events_of(ref)
                if isinstance(event, Refunded)
                for line in event.lines
            ),
        )

    def order_keys(self, tenant_id: str, order_id: str) -> OrderKeys:
        return self.keys.get((tenant_id, order_id), OrderKeys())

    def head(self, ref: Ref) -> Head | None:
        return self.heads.get(ref)

    def entitlement_of(
        self, tenant_id: str, customer_id: str, slot: int
    ) -> tuple[Ref, Head] | None:
        for ref, head in self.heads.items():
            state = head.state
            if (
                isinstance(state, Entitlement)
                and head.tenant_id == tenant_id
                and (state.customer_id, state.slot) == (customer_id, slot)
            ):
                return ref, head
        return None

    def has_legacy_username(self, legacy_username: str) -> bool:
        return any(
            head.state.legacy_username == legacy_username
            for head in self.heads.values()
            if isinstance(head.state, Entitlement)
        )

    def operations_of(self, entitlement: UUID) -> list[OperationRow]:
        rows = [
            self._row(ref, head.state)
            for ref, head in self.heads.items()
            if isinstance(head.state, FulfillmentOperation)
            and head.state.entitlement == entitlement
            and head.state.operation != "reconcile"
        ]
        if self.after_reading and not self._is_racing:
            self._is_racing = True
            self.after_reading.popleft()()
            self._is_racing = False
        return sorted(rows, key=lambda row: row.desired_version)

    def deliveries_of(self, order: UUID) -> list[tuple[Ref, Head]]:
        found = [
            (head.state.line, ref, head)
            for ref, head in self.heads.items()
            if isinstance(head.state, GoodsDelivery) and head.state.order == order
        ]
        return [(ref, head) for _, ref, head in sorted(found, key=itemgetter(0))]

    def closed_gate(self, gate: str) -> str | None:
        return self.gates.get(gate) or self.gates.get("all")

    def clock(self) -> Instant:
        return self.now

    def operation_with_key(self, tenant_id: str, key: str) -> tuple[Ref, Head] | None:
        for ref, head in self.heads.items():
            state = head.state
            if isinstance(state, FulfillmentOperation) and (
                head.tenant_id,
                state.idempotency_key,
            ) == (tenant_id, key):
                return ref, head
        return None

    def _row(self, ref: Ref, operation: FulfillmentOperation) -> OperationRow:
        assert operation.effective_at is not None
        assert operation.desired is not None
        return OperationRow(
            ref=ref,
            order=operation.order,
            operation=operation.operation,
            desired_version=operation.desired_version,
            state=operation.stage,
            effective_at=operation.effective_at,
            reset_traffic=operation.desired.reset_traffic,
            covered_by=operation.covered_by,
            order_fulfilled=self._stage_of(operation.order) not in {"", "paid"},
        )

    def is_fulfilled(self, order: UUID | None) -> bool:
        return self._stage_of(order) == "fulfilled"

    def _stage_of(self, order: UUID | None) -> str:
        if order is None:
            return ""
        head = self.heads.get(Ref(StreamKind.ORDER, order))
        return "" if head is None else str(getattr(head.state, "stage", ""))

    def live_job_with_key(self, tenant_id: str, unique_key: str) -> Ref | None:
        return self._job(tenant_id, unique_key, {"waiting", "running"})

    def dead_job_with_key(self, tenant_id: str, unique_key: str) -> Ref | None:
        return self._job(tenant_id, unique_key, {"discarded", "cancelled"})

    def _job(self, tenant_id: str, key: str, stages: set[str]) -> Ref | None:
        for ref, head in self.heads.items():
            state = head.state
            if (
                isinstance(state, Job)
                and (head.tenant_id, state.unique_key) == (tenant_id, key)
                and state.stage in stages
            ):
                return ref
        return None

    def job_args(self, job: UUID) -> JsonObject | None:
        for event in self.events_of(Ref(StreamKind.JOB, job)):
            if isinstance(event, Enqueued):
                return event.args
        return None

    def operation(self, ref: Ref) -> FulfillmentOperation:
        return _of(FulfillmentOperation, self.heads[ref].state)

    def entitlement(self, ref: Ref) -> Entitlement:
        return _of(Entitlement, self.heads[ref].state)

    def delivery(self, ref: Ref) -> GoodsDelivery:
        return _of(GoodsDelivery, self.heads[ref].state)

    def job(self, ref: Ref) -> Job:
        return _of(Job, self.heads[ref].state)

    def paid(self, ref: Ref) -> Order:
        return _of(Order, self.heads[ref].state)


def _of[T](kind: type[T], value: object) -> T:
    assert isinstance(value, kind)
    return value


def _birth(event: Event) -> OrderEvent:
    assert isinstance(event, Paid | AddonPurchased | WalletCredited)
    return event


def shown(access: Access, user_id: int = 7, status: str | None = None) -> Observed:
    """Return what an obedient panel shows."""
    desired = access.desired
    return Observed(
        panel_user_id=access.panel_user_id or user_id,
        status=status or ("DISABLED" if access.is_off else "ACTIVE"),
        expire_at=desired.remote_expire_at,
        traffic_limit_bytes=desired.traffic_bytes or 0,
        device_limit=desired.device_limit or 0,
        squads=len(desired.squad_ids),
    )


PUSHING = ("create", "reconcile", "extend", "set_limits", "set_squads", "resume")
STANDING = ("enable", "disable", "pause", "reset_traffic")


@dataclass
class MemoryPanel:
    """Gives the answers that were put in, and obeys when there is none left."""

    answers: deque[PanelAnswer] = field(default_factory=deque[PanelAnswer])
    asked: list[tuple[str, Access]] = field(default_factory=list[tuple[str, Access]])
    operations: list[str] = field(default_factory=list[str])
    """What `asked` was about, one by one."""
    looks: deque[LookAnswer] = field(default_factory=deque[LookAnswer])
    """What `read` says before it looks into `users`."""
    users: dict[str, Sight] = field(default_factory=dict[str, Sight])
    """What the panel shows, by user name."""
    resets: list[str] = field(default_factory=list[str])
    """The user names whose traffic was reset, one by one."""
    loses: int = 0
    """How many of the next answers are lost; the panel has obeyed all the same."""
    keeps_expiry: bool = False
    """Whether an expiry is not taken, as none of the past is."""
    meanwhile: Callable[[], object] = lambda: None
    """What happens while the panel is being asked."""
    when_looked_at: Callable[[], object] = lambda: None
    """What happens while the panel is being looked at."""

    def read(self, access: Access, request_id: str, guard: CallGuard) -> LookAnswer:
        del request_id
        self.when_looked_at()
        if self.looks:
            return self.looks.popleft()
        if not guard.may_begin():
            return Halted()
        sight = self.users.get(access.username)
        return Missing("", 1) if sight is None else Shown(sight, 1)

    def carry_out(
        self,
        operation: str,
        access: Access,
        request_id: str,
        guard: CallGuard,
        *,
        requests_before: int = 0,
    ) -> PanelAnswer:
        may_begin = guard.may_begin()
        self.asked.append((request_id, access))
        self.operations.append(operation)
        self.meanwhile()
        if self.answers:
            return self.answers.popleft()
        if operation not in {*PUSHING, *STANDING}:
            return Rejected("unsupported_operation")
        if not may_begin:
            return Halted("", requests_before)
        sight = self._obeyed(operation, access)
        if sight is None:
            return Unavailable("remote_user_not_found")
        existed = access.username in self.users
        self.users[access.username] = sight
        if operation == "reset_traffic" or (
            operation == "create" and existed and access.desired.reset_traffic
        ):
            self.resets.append(access.username)
        if self.loses:
            self.loses -= 1
            return Unknown("remnawave_unavailable")
        return Confirmed(sight.observed, sight.squad_ids)

    def _obeyed(self, operation: str, access: Access) -> Sight | None:
        before = self.users.get(access.username)
        if before is None and operation not in {"create", "reconcile"}:
            return None
        if before is None or operation in PUSHING:
            pushed = shown(access)
            if before is not None and self.keeps_expiry:
                pushed = replace(pushed, expire_at=before.observed.expire_at)
            return Sight(pushed, tuple(sorted(access.desired.squad_ids)))
        observed = replace(before.observed, status=shown(access).status)
        return Sight(observed, before.squad_ids)


@dataclass
class MemoryContext:
    """One claim, as its handler sees it."""

    job_id: UUID
    token: int
    attempt: int = 1
    tenant_id: str = "default"
    correlation_id: str = "order:1"
    cancel_requested: bool = False
    seconds_left: float = 60.0

    def may_begin(self) -> bool:
        return self.seconds_left > 10

    def progress(self, value: JsonObject) -> None:
        """Nobody looks."""

    def log(self, event: str, /, **values: str | float | bool | None) -> None:
        """Nobody reads."""
