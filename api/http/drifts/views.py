"""What is answered about drifts."""

from typing import Any

import msgspec

from api.http.wire.ids import Prefix, told
from api.http.wire.values import Moment, Position, moment, moment_if, position
from application.operators.operate import Operated
from projections.queries.heads.operation import OperationRecord
from projections.queries.records.drifts import DriftLine

REPAIRED = "repaired"
RESOLVED = "resolved"
"""The same, as it is stored."""


class DriftView(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One kind of drift of one customer's access."""

    id: str
    """Of the entitlement, and the kind."""
    entitlement_id: str
    customer_id: str | None
    slot: int | None
    remnawave_user_id: int | None
    """The panel's own id of the user; null: it never showed one."""
    kind: str
    status: str
    """`open` or `repaired`."""
    expected: dict[str, Any]
    """What is owed: `{"value": …}` or `{"exists": …}`."""
    observed: dict[str, Any]
    episodes: int
    """How often it was there."""
    detected_at: Moment
    repaired_at: Moment | None


class DriftsView(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Drifts, the newest first."""

    items: tuple[DriftView, ...]


class ReconciledView(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The reconciliation that was asked for."""

    operation_id: str
    entitlement_id: str
    operation: str
    status: str
    replayed: bool
    """Whether it was asked for before: under the same key, or in the same quarter."""
    position: Position


def drift_id(line: DriftLine) -> str:
    """Return how one drift is named."""
    return f"{told(Prefix.DRIFT, line.stream_id)}.{line.kind}"


def drift_view(line: DriftLine) -> DriftView:
    """Return one drift."""
    return DriftView(
        id=drift_id(line),
        entitlement_id=told(Prefix.ENTITLEMENT, line.stream_id),
        customer_id=line.customer_id,
        slot=line.slot,
        remnawave_user_id=line.panel_user_id,
        kind=line.kind,
        status=REPAIRED if line.state == RESOLVED else line.state,
        expected=line.expected,
        observed=line.observed,
        episodes=line.episodes,
        detected_at=moment(line.detected_at),
        repaired_at=moment_if(line.resolved_at),
    )


def standing_view(record: OperationRecord) -> ReconciledView:
    """Return how the operation stands that was asked for before."""
    return ReconciledView(
        operation_id=told(Prefix.OPERATION, record.stream_id),
        entitlement_id=told(Prefix.ENTITLEMENT, record.entitlement_id),
        operation=record.operation,
        status=record.state,
        replayed=True,
        position=position(record.position),
    )


def reconciled_view(operated: Operated) -> ReconciledView:
    """Return the operation that was asked for."""
    return ReconciledView(
        operation_id=told(Prefix.OPERATION, operated.operation_id),
        entitlement_id=told(Prefix.ENTITLEMENT, operated.entitlement_id),
        operation=operated.operation,
        status=operated.state,
        replayed=operated.replayed,
        position=position(operated.position),
    )
