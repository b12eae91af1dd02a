"""What the use cases need from the outside, as Protocols."""

from collections.abc import Sequence
from typing import Final, Protocol
from uuid import UUID

import msgspec

from application.unit import Head
from domain.entitlement.state import Desired, Observed, Sight
from domain.event import Instant, JsonObject
from domain.order.events import OrderEvent
from domain.stream import Ref


class SettledOrder(msgspec.Struct, frozen=True, kw_only=True):
    """One order as the fan-out reads it: its birth, and when it was recorded."""

    ref: Ref
    tenant_id: str
    correlation_id: str
    version: int
    birth: OrderEvent
    settled_at: Instant
    """`recorded_at` of the order's first event; days count from here."""
    read_at: Instant
    """The database's clock when this was read; no job is due before it."""
    position: int
    refunded_lines: frozenset[int] = frozenset()
    """Lines whose money has gone back, whatever was delivered before."""


class OrderKeys(msgspec.Struct, frozen=True, kw_only=True):
    """What was asked for under one of a shop's order ids."""

    order: Ref | None = None
    """The order; None as long as nobody has settled it."""
    fanout: Ref | None = None
    """The job that decides what the order owes; a topup has none."""
    refund: Ref | None = None
    """The job of the one refund that was asked for under the order's id."""
    refund_asked_at: Instant | None = None
    """When it was asked for, however late it is decided."""


class OperationRow(msgspec.Struct, frozen=True, kw_only=True):
    """What covering and fulfilling look at of one operation."""

    ref: Ref
    order: UUID | None
    operation: str
    desired_version: int
    state: str
    effective_at: Instant
    reset_traffic: bool
    covered_by: UUID | None
    """The later operation that carried this one's desired state, if one did."""
    order_fulfilled: bool
    """Whether the order waits for nothing any more: fulfilled, or refunded."""


class Streams(Protocol):
    """Reads heads and streams for decisions; never a read model."""

    def order(self, stream_id: UUID) -> SettledOrder | None:
        """Return an order with its birth, or None."""
        ...

    def order_keys(self, tenant_id: str, order_id: str) -> OrderKeys:
        """Return what was asked for under a shop's order id."""
        ...

    def head(self, ref: Ref) -> Head | None:
        """Return one head without locking it, or None."""
        ...

    def entitlement_of(
        self, tenant_id: str, customer_id: str, slot: int
    ) -> tuple[Ref, Head] | None:
        """Return the entitlement of a customer and slot, or None."""
        ...

    def has_legacy_username(self, legacy_username: str) -> bool:
        """Whether an entitlement of any tenant adopts under the name."""
        ...

    def operations_of(self, entitlement: UUID) -> Sequence[OperationRow]:
        """Return the operations of an entitlement by rising desired version.

        Without its reconciliations: those carry nothing that others could cover.
        """
        ...

    def deliveries_of(self, order: UUID) -> Sequence[tuple[Ref, Head]]:
        """Return the deliveries of goods of an order, by their lines."""
        ...

    def operation_with_key(self, tenant_id: str, key: str) -> tuple[Ref, Head] | None:
        """Return the operation that was asked for under an idempotency key, or None."""
        ...

    def closed_gate(self, gate: str) -> str | None:
        """Return why a gate is closed, or None when it is open."""
        ...

    def clock(self) -> Instant:
        """Return the database's clock."""
        ...

    def live_job_with_key(self, tenant_id: str, unique_key: str) -> Ref | None:
        """Return the unfinished job that has the key, or None."""
        ...

    def dead_job_with_key(self, tenant_id: str, unique_key: str) -> Ref | None:
        """Return the latest dead job that has the key, or None."""
        ...

    def job_args(self, job: UUID) -> JsonObject | None:
        """Return the arguments of an unfinished or dead job, or None."""
        ...

    def last_position(self, streams: Sequence[UUID]) -> int:
        """Return where the last event of all these streams is; 0 when they have none.

        For whoever asks for what is so already: a reader at that position sees it.
        """
        ...


class Confirmed(msgspec.Struct, frozen=True):
    """The panel shows the desired state."""

    observed: Observed
    squad_ids: tuple[str, ...] = ()
    """The squads that the panel shows: lower case, sorted."""


class Shown(msgspec.Struct, frozen=True):
    """The panel has the user; nothing is said about what it should be."""

    sight: Sight
    requests: int
    """How many requests the look took."""


class Missing(msgspec.Struct, frozen=True):
    """Nobody has the known id, the name, or the earlier product's name."""

    detail: str = ""
    requests: int = 0
    """How many requests the look took."""


class Rejected(msgspec.Struct, frozen=True):
    """The panel said no for good; `code` is stored (`remnawave_http_400` …)."""

    code: str
    detail: str = ""


class Unavailable(msgspec.Struct, frozen=True):
    """The panel could not do it now; nothing suggests that it was applied."""

    code: str
    detail: str = ""
    retry_after_seconds: float | None = None


class Unknown(msgspec.Struct, frozen=True):
    """No clear answer: it may have been applied.  The writes are safe to repeat."""

    code: str
    detail: str = ""
    retry_after_seconds: float | None = None


ADAPTER_ERROR: Final = "adapter_error"
"""Code of the `Unknown` that an adapter counts as which raises."""


class Misconfigured(msgspec.Struct, frozen=True):
    """Credentials or address are wrong; waits for a person, costs no attempt.

    `cause` is `panel_credentials` or `panel_configuration`.
    """

    cause: str
    detail: str = ""


class Halted(msgspec.Struct, frozen=True):
    """The caller's lease or deadline left no room to begin the next call."""

    detail: str = ""
    requests: int = 0
    """How many requests of the attempt had gone out; with none, the panel knows
    nothing."""


type Unconfirmed = Rejected | Unavailable | Unknown | Misconfigured | Halted
type PanelAnswer = Confirmed | Unconfirmed
type LookAnswer = Shown | Missing | Unconfirmed


class CallGuard(Protocol):
    """Says before every single call whether it may still begin."""

    def may_begin(self) -> bool:
        """Whether the lease and the deadline outlast one more call."""
        ...


class Access(msgspec.Struct, frozen=True, kw_only=True):
    """One panel user as it should be, and how to find it."""

    username: str
    legacy_username: str | None
    panel_user_id: int | None
    """Known from an earlier operation, or None."""
    desired: Desired
    at: Instant
    """When the attempt began, by the database's clock: what is past is past by this."""
    is_off: bool = False
    """Paused or disabled: the user must show DISABLED, and otherwise must not."""


class Panel(Protocol):
    """The remote panel.  Never raises; every answer is classified.

    Every HTTP request of an attempt carries `X-Request-ID: <request_id>.<n>`, n
    counted from 1 without a gap.
    """

    def read(self, access: Access, request_id: str, guard: CallGuard) -> LookAnswer:
        """Return what the panel shows of the user; changes nothing.

        Looked for under the known id, then under both names.
        """
        ...

    def carry_out(
        self,
        operation: str,
        access: Access,
        request_id: str,
        guard: CallGuard,
        *,
        requests_before: int = 0,
    ) -> PanelAnswer:
        """Bring the user to the state that `operation` is about.

        `create` and `reconcile` adopt or create the user and push everything;
        `extend`, `set_limits`, `set_squads` and `resume` push everything to a user
        that exists; `enable`, `disable` and `pause` push the standing only, and
        `reset_traffic` sets what was used to nothing.  All of them see to it that the
        user shows DISABLED exactly when `access.is_off`, whatever their name says.

        A user that only `create` may make is `Unavailable`, code
        `remote_user_not_found`.  `requests_before` counts what the same attempt has
        sent already, in `read`.
        """
        ...
