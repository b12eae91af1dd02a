"""Entitlements: what each customer is owed, and what the panel showed last."""

from collections.abc import Sequence

import msgspec
from litestar import Response
from litestar.di import NamedDependency
from litestar.handlers import HTTPRouteHandler
from litestar.params import FromPath

from api.http.call import Call
from api.http.lists.page import Offer, listed
from api.http.lists.query import AtPosition, ListQuery, list_query
from api.http.lists.views import ListView
from api.http.records.detail import Sought, detailed
from api.http.records.problems import DETAIL_PROBLEMS, LIST_PROBLEMS
from api.http.route import route
from api.http.surface import OPERATORS, Surface
from api.http.wire.ids import Prefix, told
from api.http.wire.values import Moment, moment, moment_if
from domain.access.permissions import Permission
from projections.queries.grammar.declared import ENTITLEMENT_WORDS
from projections.queries.records.entitlements import ENTITLEMENTS, EntitlementLine
from projections.reading import AsOf

_OFFER = Offer(name="entitlements", vocabulary=ENTITLEMENT_WORDS, listing=ENTITLEMENTS)


class ObservedView(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The panel's user, as it answered last."""

    panel_user_id: int | None
    status: str | None
    expire_at: Moment | None
    traffic_bytes: int | None
    """0: unlimited."""
    device_limit: int | None
    squads: int | None
    at: Moment


class EntitlementView(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One customer's access."""

    id: str
    customer_id: str
    slot: int
    username: str
    """The user's name on the panel."""
    state: str
    """`live`, `paused` or `disabled`."""
    paused_at: Moment | None
    enables_at: Moment | None
    desired_version: int
    applied_version: int | None
    """The latest desired version that the panel has confirmed; null: none."""
    ends_at: Moment | None
    planned_ends_at: Moment | None
    """End of everything that is settled, with what is still to come."""
    changes_at: Moment | None
    grace_seconds: int
    traffic_bytes: int | None
    """Null: unlimited."""
    device_limit: int | None
    squads: int
    observed: ObservedView | None
    """Null: the panel never showed it."""
    drifts: tuple[str, ...]
    """Kinds in which the panel differs."""
    correlation_id: str
    created_at: Moment
    updated_at: Moment


def entitlement_view(line: EntitlementLine, _shown: AsOf) -> EntitlementView:
    """Return one entitlement."""
    return EntitlementView(
        id=told(Prefix.ENTITLEMENT, line.stream_id),
        customer_id=line.customer_id,
        slot=line.slot,
        username=line.username,
        state=line.state,
        paused_at=moment_if(line.paused_at),
        enables_at=moment_if(line.enables_at),
        desired_version=line.desired_version,
        applied_version=line.applied_version,
        ends_at=moment_if(line.ends_at),
        planned_ends_at=moment_if(line.planned_ends_at),
        changes_at=moment_if(line.changes_at),
        grace_seconds=line.grace_seconds,
        traffic_bytes=line.traffic_bytes,
        device_limit=line.device_limit,
        squads=line.squads,
        observed=_observed(line),
        drifts=tuple(sorted(line.drifts)),
        correlation_id=line.correlation_id,
        created_at=moment(line.created_at),
        updated_at=moment(line.updated_at),
    )


def _observed(line: EntitlementLine) -> ObservedView | None:
    if line.observed_at is None:
        return None
    return ObservedView(
        panel_user_id=line.panel_user_id,
        status=line.observed_status,
        expire_at=moment_if(line.observed_expire_at),
        traffic_bytes=line.observed_traffic_bytes,
        device_limit=line.observed_device_limit,
        squads=line.observed_squads,
        at=moment(line.observed_at),
    )


@route(
    "GET",
    "/entitlements",
    permission=Permission.OPERATIONS_READ,
    query=list_query,
    problems=LIST_PROBLEMS,
)
def list_entitlements(
    wanted: NamedDependency[ListQuery], call: NamedDependency[Call]
) -> Response[ListView[EntitlementView]]:
    """List entitlements, the newest first."""
    ask = call.services.queries.entitlements
    return listed(call, wanted, _OFFER, ask, entitlement_view)


@route(
    "GET",
    "/entitlements/{entitlement_id:str}",
    permission=Permission.OPERATIONS_READ,
    problems=DETAIL_PROBLEMS,
)
def get_entitlement(
    entitlement_id: FromPath[str],
    call: NamedDependency[Call],
    at_position: AtPosition = None,
) -> Response[EntitlementView]:
    """Tell one entitlement."""
    sought = Sought(Prefix.ENTITLEMENT, entitlement_id, at_position)
    return detailed(call, sought, call.services.queries.entitlements, entitlement_view)


def routes(surface: Surface) -> Sequence[HTTPRouteHandler]:
    """Return the routes of entitlements that operators look at."""
    return (list_entitlements, get_entitlement) if surface in OPERATORS else ()
