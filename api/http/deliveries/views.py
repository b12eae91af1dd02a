"""What is answered about deliveries."""

import msgspec
from litestar import Response

from api.http.deliveries.evidence import EvidenceView, evidence_view
from api.http.keyed import Made
from api.http.surface import Surface
from api.http.wire.ids import Prefix, told
from api.http.wire.match import etag
from api.http.wire.values import Position, position
from application.evidence.port import Kept
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


def added_view(surface: Surface, kept: Kept) -> Response[EvidenceView]:
    """Return the file as it is on record; 200 when it was so already."""
    evidence = kept.evidence
    sha256 = evidence.sha256.hex()
    view = evidence_view(surface, evidence.delivery, sha256, evidence)
    headers = {"Location": view.links.self} if view.links.self else None
    return Response(view, status_code=201 if kept.is_new else 200, headers=headers)


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
    tag = etag(view.delivery_id, view.version)
    return Response(view, headers={"ETag": tag})


def reconciling_view(
    surface: Surface, delivery_id: str, job_id: str
) -> Response[ReconcilingView]:
    """Return where to look."""
    headers = {"Location": f"{surface}/jobs/{job_id}", "Retry-After": "2"}
    view = ReconcilingView(delivery_id=delivery_id, job_id=job_id)
    return Response(view, headers=headers)
