"""Routes of deliveries: what operators ask, and decide about money."""

from collections.abc import Sequence
from uuid import UUID

from litestar import Response
from litestar.di import NamedDependency
from litestar.handlers import HTTPRouteHandler
from litestar.params import FromPath, JSONBody, RawBody

from api.http.call import Call
from api.http.deliveries.bodies import DecisionRequest
from api.http.deliveries.evidence import GIVEN, EvidenceView, given_file
from api.http.deliveries.views import (
    DecisionView,
    ReconcilingView,
    added_view,
    decision_view,
    reconciling_view,
)
from api.http.keyed import Made, answered
from api.http.route import Key, Match, route
from api.http.surface import OPERATORS, Surface
from api.http.wire.ids import Prefix, given, told
from api.http.wire.match import seen
from application.evidence.add import LARGEST_BYTES
from application.evidence.media import MEDIA
from application.operators.deliveries.decide import waits_for_agreement
from application.operators.deliveries.verdict import Said
from application.operators.instruction import Instruction
from domain.access.permissions import Permission


@route(
    "POST",
    "/deliveries/{delivery_id:str}/reconcile",
    permission=Permission.DELIVERIES_WRITE,
    status=202,
    key=Key.TAKEN,
    problems=("state_conflict", "lookup_unsupported", "provider_unconfigured"),
)
def reconcile_delivery(
    delivery_id: FromPath[str], call: NamedDependency[Call]
) -> Response[ReconcilingView]:
    """Have the provider asked what became of a purchase.

    By a job that never buys.  While one asks already, that one is answered.
    """
    id_ = given(delivery_id, Prefix.DELIVERY)

    def carry_out(instruction: Instruction) -> Made:
        asked = call.services.reconcile_delivery(str(id_), instruction)
        return Made("job", str(asked.job_id), position=asked.position)

    def show(made: Made) -> Response[ReconcilingView]:
        job_id = told(Prefix.JOB, UUID(made.id))
        return reconciling_view(call.surface, told(Prefix.DELIVERY, id_), job_id)

    return answered(call, carry_out, show)


@route(
    "POST",
    "/deliveries/{delivery_id:str}/decision",
    permission=Permission.DELIVERIES_DECIDE,
    also=(202,),
    key=Key.REQUIRED,
    match=Match.REQUIRED,
    problems=(
        "forbidden",
        "state_conflict",
        "review_decided",
        "sender_not_gone",
        "purchases_spent",
        "self_approval",
    ),
)
def decide_delivery(
    delivery_id: FromPath[str],
    data: JSONBody[DecisionRequest],
    call: NamedDependency[Call],
) -> Response[DecisionView]:
    """Say what became of a purchase whose end nobody knows.

    `not_purchased` gives the money back, `buy_again` buys once more under a new key;
    both are barred while whoever asked the provider may still be about to.  202: it is
    proposed, and another person has to agree by the same request.
    """
    id_ = given(delivery_id, Prefix.DELIVERY)
    said = Said(
        delivery=str(id_),
        verdict=data.verdict,
        evidence=data.evidence,
        files=data.evidence_files,
        is_override=data.override,
        versions=seen(call, told(Prefix.DELIVERY, id_)),
    )

    def carry_out(instruction: Instruction) -> Made:
        decided = call.services.decide(said, instruction)
        events, position = decided.events, decided.position
        is_asked = decided.is_proposed
        return Made(
            "delivery", str(decided.delivery_id), events, position, is_asked=is_asked
        )

    def show(made: Made) -> Response[DecisionView]:
        decided = call.services.decide.look(made.id, call.instruction())
        return decision_view(decided, made)

    return answered(call, carry_out, show, body=data, is_asked=waits_for_agreement)


@route(
    "POST",
    "/deliveries/{delivery_id:str}/evidence",
    permission=Permission.DELIVERIES_DECIDE,
    status=201,
    also=(200,),
    media=MEDIA,
    body_bytes=LARGEST_BYTES,
    problems=("unsupported_media_type", "evidence_unwritable"),
)
def add_evidence(
    delivery_id: FromPath[str], body: RawBody, call: NamedDependency[Call]
) -> Response[EvidenceView]:
    """Add a file that shows what became of a purchase.

    The body is the file, of at most 5 MiB; what it is, its own first bytes say.  The
    same file again is answered with 200.  Decisions name it by its digest.
    """
    id_ = given(delivery_id, Prefix.DELIVERY)
    kept = call.services.add_evidence(str(id_), body, call.instruction())
    return added_view(call.surface, kept)


@route(
    "GET",
    "/deliveries/{delivery_id:str}/evidence/{digest:str}",
    permission=Permission.DELIVERIES_READ,
    is_look=True,
    gives=GIVEN,
    problems=("evidence_unreadable",),
)
def look_at_evidence(
    delivery_id: FromPath[str], digest: FromPath[str], call: NamedDependency[Call]
) -> Response[bytes]:
    """Give a file that was added to a delivery, as it was added or not at all.

    To be downloaded, under its digest.  Who looks says why, and the look is on record
    before anything is told.
    """
    id_ = given(delivery_id, Prefix.DELIVERY)
    seen = call.services.look_at_evidence(str(id_), digest, call.instruction())
    return given_file(seen)


def routes(surface: Surface) -> Sequence[HTTPRouteHandler]:
    """Return the routes of deliveries: operators alone have them."""
    if surface not in OPERATORS:
        return ()
    both = (reconcile_delivery, decide_delivery)
    if surface is not Surface.PANEL:
        return both
    return (*both, add_evidence, look_at_evidence)
