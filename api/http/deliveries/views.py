"""What is answered about deliveries."""

import msgspec
from litestar import Response

from api.http.keyed import Made
from api.http.surface import Surface
from api.http.wire.ids import Prefix, told
from api.http.wire.match import etag
from api.http.wire.values import Moment, Position, moment_if, position
from application.evidence.add import Kept
from application.operators.deliveries.decide import Decided


class DecisionView(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """How a delivery stands after a person's word."""

    delivery_id: str
    state: str
    version: int
    proposed_by: str | None
    """Who has proposed what another person has to agree to; null: it is decided."""
    events: tuple[str, ...]
    """Tags of the events that were written; none: it was so already."""
    position: Position
    """A read at this position sees them."""


class ReconcilingView(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The job that asks the provider; it never buys."""

    delivery_id: str
    job_id: str


class EvidenceView(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A file that was added to a delivery."""

    delivery_id: str
    sha256: str
    size_bytes: int
    media_type: str
    added_by: str
    added_at: Moment | None


def evidence_view(kept: Kept) -> Response[EvidenceView]:
    """Return the file as it is on record; 200 when it was so already."""
    evidence = kept.evidence
    view = EvidenceView(
        delivery_id=told(Prefix.DELIVERY, evidence.delivery),
        sha256=evidence.sha256.hex(),
        size_bytes=evidence.size_bytes,
        media_type=evidence.media_type,
        added_by=evidence.added_by,
        added_at=moment_if(evidence.added_at),
    )
    return Response(view, status_code=201 if kept.is_new else 200)


def decision_view(decided: Decided, made: Made) -> Response[DecisionView]:
    """Return how it stands, and the tag of that version."""
    view = DecisionView(
        delivery_id=told(Prefix.DELIVERY, decided.delivery_id),
        state=decided.state,
        version=decided.version,
        proposed_by=decided.proposed_by,
        events=made.events,
        position=position(made.position or decided.position),
    )
    tag = etag(Prefix.DELIVERY, decided.delivery_id, decided.version)
    return Response(view, headers={"ETag": tag})


def reconciling_view(
    surface: Surface, delivery_id: str, job_id: str
) -> Response[ReconcilingView]:
    """Return where to look."""
    headers = {"Location": f"{surface}/jobs/{job_id}", "Retry-After": "2"}
    view = ReconcilingView(delivery_id=delivery_id, job_id=job_id)
    return Response(view, headers=headers)
