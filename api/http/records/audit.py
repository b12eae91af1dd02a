"""The audit: what people did and were refused, for those who look after them."""

from collections.abc import Sequence
from typing import Any, Final

import msgspec
from litestar import Response
from litestar.di import NamedDependency
from litestar.handlers import HTTPRouteHandler
from litestar.params import FromPath

from api.http.call import Call
from api.http.lists.page import Offer, listed
from api.http.lists.query import ListQuery, list_query
from api.http.lists.views import ListView
from api.http.records.problems import LIST_PROBLEMS
from api.http.route import route
from api.http.surface import Surface
from api.http.wire.values import Moment, Position, moment, position
from application.errors import NotFoundError
from domain.access.permissions import Permission
from domain.text import storable
from projections.queries.grammar.declared import AUDIT_WORDS
from projections.queries.records.audit import AUDIT
from projections.queries.terms import TENANT, Among, Asked, Between
from projections.read_models.audit import AuditRow
from projections.reading import AsOf

_OFFER: Final = Offer(name="audit", vocabulary=AUDIT_WORDS, listing=AUDIT)
_LAST: Final = (1 << 63) - 2


class AuditView(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One thing that somebody did or was refused."""

    id: Position
    """Its position in the log."""
    at: Moment
    actor_type: str
    actor: str
    role: str | None
    """Of a person who has signed in."""
    action: str
    category: str | None
    """`system` or `financial`; of actions alone."""
    target_kind: str | None
    target: str
    outcome: str
    """`accepted` or `refused`."""
    code: str | None
    """Why it was refused."""
    reason: str | None
    """What was given as the reason, without secrets."""
    request_id: str | None
    correlation_id: str
    is_part: bool
    """Whether it is part of an action that another row tells; see `commitId`."""
    commit_id: str | None
    before: dict[str, Any] | None
    """States and figures before an action."""
    after: dict[str, Any] | None


def audit_view(row: AuditRow, _shown: AsOf | None = None) -> AuditView:
    """Return one row of the audit."""
    return AuditView(
        id=position(row.position),
        at=moment(row.recorded_at),
        actor_type=row.actor_type,
        actor=row.actor_id,
        role=row.role,
        action=row.action,
        category=row.category,
        target_kind=row.target_kind,
        target=row.target,
        outcome=row.outcome,
        code=row.code,
        reason=None if row.reason is None else storable(row.reason),
        request_id=row.request_id,
        correlation_id=row.correlation_id,
        is_part=row.is_part,
        commit_id=None if row.commit_id is None else str(row.commit_id),
        before=None if row.before is None else dict(row.before),
        after=None if row.after is None else dict(row.after),
    )


@route(
    "GET",
    "/audit",
    permission=Permission.AUDIT_READ,
    query=list_query,
    problems=LIST_PROBLEMS,
)
def list_audit(
    wanted: NamedDependency[ListQuery], call: NamedDependency[Call]
) -> Response[ListView[AuditView]]:
    """List what people did and were refused, the newest first."""
    return listed(call, wanted, _OFFER, call.services.queries.audit, audit_view)


@route(
    "GET",
    "/audit/{audit_id:str}",
    permission=Permission.AUDIT_READ,
    problems=("not_found",),
)
def get_audit(
    audit_id: FromPath[str], call: NamedDependency[Call]
) -> Response[AuditView]:
    """Tell one row of the audit, by its position."""
    row = _row(call, audit_id)
    if row is None:
        what = "row of the audit"
        raise NotFoundError(what, audit_id[:64])
    return Response(audit_view(row))


def _row(call: Call, text: str) -> AuditRow | None:
    if not text.isascii() or not text.isdigit() or int(text[:20]) > _LAST:
        return None
    at = int(text[:20])
    terms = (
        Between("position", at, at + 1),
        Among("part", (True, False)),
        Among(TENANT, (call.tenant_id,)),
    )
    found = call.services.queries.audit(Asked(terms=terms)).items
    return found[0] if found else None


def routes(surface: Surface) -> Sequence[HTTPRouteHandler]:
    """Return the routes of the audit, which people alone look at."""
    return (list_audit, get_audit) if surface is Surface.PANEL else ()
