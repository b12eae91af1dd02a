"""How deliveries are shown: never credentials, nor what a provider said in full."""

from typing import Any
from uuid import UUID

import msgspec

from api.http.deliveries.evidence import EvidenceView, evidence_view
from api.http.surface import Surface
from api.http.wire.ids import Prefix, told
from api.http.wire.values import Moment, Position, moment, moment_if, position
from application.operators.deliveries.decide import LONGEST_EVIDENCE
from domain.text import stated
from projections.job_line import JobLine
from projections.log_event import LogEvent
from projections.queries.records.dossier import AtLarge, Dossier
from projections.read_models.deliveries import DeliveryRow
from projections.reading import AsOf


class DeliveryFacts(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What is told of a delivery wherever one is told."""

    id: str
    state: str
    """`pending`, `submitted`, `needs_review`, `delivered`, `failed`, `refunded` or
    `cancelled`."""
    order_id: str
    """Ours."""
    shop_order_id: str
    customer_id: str
    line: int
    provider: str
    product: str
    """Its kind."""
    quantity: int
    currency: str
    paid_minor: int
    refunded_minor: int | None
    purchases: int
    code: str | None
    deferred_code: str | None
    """Why nothing is bought for now."""
    next_at: Moment | None
    correlation_id: str


class DeliveryView(DeliveryFacts, frozen=True, kw_only=True, rename="camel"):
    """One delivery in a list."""

    reviewed_at: Moment | None
    decided_by: str | None
    created_at: Moment
    updated_at: Moment
    completed_at: Moment | None


class ProposalView(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What one person has proposed, and another one may agree to."""

    verdict: str
    evidence: str
    is_override: bool
    by: str


class StepView(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One thing that happened to a delivery."""

    type: str
    at: Moment
    position: Position
    actor: str
    code: str | None
    reference: str | None
    """What the provider calls the purchase."""


class DeliveryJobView(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A job of the delivery that is not over, or dead."""

    id: str
    kind: str
    state: str
    """Inside: `waiting`, `running`, `discarded` or `cancelled`."""
    run_at: Moment | None
    code: str | None
    error_code: str | None


class DeliveryDetailView(DeliveryFacts, frozen=True, kw_only=True, rename="camel"):
    """One delivery, and everything that a review is decided by."""

    version: int
    """What a decision is about: `If-Match: "dlv_…:17"`."""
    recipient: str | None
    """Whose it is at the provider; null: the caller may not decide."""
    cost_minor: int
    price_minor: int
    decision: int
    standing: str
    """Of the latest decision to buy: `none`, `asked`, `accepted` or `unknown`."""
    key: str | None
    """Under which the provider was asked last: to be looked for there."""
    deadline: Moment | None
    """When its sender gives, or gave, up waiting."""
    reference: str | None
    failure_class: str | None
    restored_at: Moment | None
    is_doubtful: bool
    senders: tuple[AtLarge, ...]
    """Refund and buying again are barred while there are any."""
    proposal: ProposalView | None
    events: tuple[StepView, ...]
    jobs: tuple[DeliveryJobView, ...]
    evidence: tuple[EvidenceView, ...]
    """Files that people have added, the latest first."""


def delivery_view(row: DeliveryRow, _shown: AsOf) -> DeliveryView:
    """Return one delivery of a list."""
    return DeliveryView(
        **_facts(row, row.stream_id, row.product),
        reviewed_at=moment_if(row.reviewed_at),
        decided_by=row.decided_by,
        created_at=moment(row.created_at),
        updated_at=moment(row.updated_at),
        completed_at=moment_if(row.completed_at),
    )


def delivery_detail_view(
    surface: Surface, found: Dossier, *, may_decide: bool
) -> DeliveryDetailView:
    """Return one delivery with all that may be seen of it."""
    return DeliveryDetailView(
        **_facts(found, found.delivery_id, found.product.kind),
        version=found.version,
        recipient=found.recipient if may_decide else None,
        cost_minor=found.cost_minor,
        price_minor=found.price_minor,
        decision=found.decision,
        standing=found.standing,
        key=found.key,
        deadline=moment_if(found.deadline),
        reference=found.reference,
        failure_class=found.failure_class,
        restored_at=moment_if(found.restored_at),
        is_doubtful=found.is_doubtful,
        senders=found.senders,
        proposal=_proposal(found),
        events=tuple(map(_step, found.events)),
        jobs=tuple(map(_job, found.jobs)),
        evidence=tuple(
            evidence_view(surface, found.delivery_id, file.sha256, file)
            for file in found.files
        ),
    )


def _facts(found: DeliveryRow | Dossier, id_: UUID, product: str) -> dict[str, Any]:
    """Return the members of `DeliveryFacts`."""
    return {
        "id": told(Prefix.DELIVERY, id_),
        "state": found.state,
        "order_id": told(Prefix.ORDER, found.order_stream_id),
        "shop_order_id": found.order_id,
        "customer_id": found.customer_id,
        "line": found.line,
        "provider": found.provider,
        "product": product,
        "quantity": found.quantity,
        "currency": found.currency,
        "paid_minor": found.paid_minor,
        "refunded_minor": found.refunded_minor,
        "purchases": found.purchases,
        "code": found.code,
        "deferred_code": found.deferred_code,
        "next_at": moment_if(found.next_at),
        "correlation_id": found.correlation_id,
    }


def _proposal(found: Dossier) -> ProposalView | None:
    proposed = found.proposal
    if proposed is None:
        return None
    return ProposalView(
        verdict=proposed.verdict,
        evidence=stated(proposed.evidence, LONGEST_EVIDENCE),
        is_override=proposed.is_override,
        by=proposed.by.id,
    )


def _step(event: LogEvent) -> StepView:
    return StepView(
        type=event.type,
        at=moment(event.recorded_at),
        position=position(event.position),
        actor=f"{event.meta.actor.type}:{event.meta.actor.id}",
        code=event.told("code"),
        reference=event.told("reference"),
    )


def _job(line: JobLine) -> DeliveryJobView:
    return DeliveryJobView(
        id=told(Prefix.JOB, line.job_id),
        kind=line.kind,
        state=line.state,
        run_at=moment_if(line.run_at),
        code=line.code,
        error_code=line.error_code,
    )
