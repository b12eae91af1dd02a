"""Dead letters: what nothing runs again without a person, one by one and by cause."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Final

import msgspec
from litestar import Response
from litestar.di import NamedDependency
from litestar.handlers import HTTPRouteHandler

from api.http.call import Call
from api.http.lists.page import Offer, listed
from api.http.lists.query import AtPosition, ListQuery, list_query
from api.http.lists.views import AsOfView, CountView, ListView, as_of
from api.http.lists.waiting import no_older_than, told_if_behind
from api.http.records.problems import LIST_PROBLEMS
from api.http.route import route
from api.http.surface import OPERATORS, Surface
from api.http.wire.ids import Prefix, told, told_if
from api.http.wire.values import Moment, moment, moment_if
from domain.access.permissions import Permission
from projections.queries.grammar.declared import LETTER_WORDS
from projections.queries.letters.filter import LetterFilter
from projections.queries.letters.groups import Cause, Causes
from projections.queries.letters.listing import OPEN, Letter
from projections.reading import AsOf

_OFFER: Final = Offer(name="dead letters", vocabulary=LETTER_WORDS, listing=OPEN)
_PREFIXES: Final = {
    "job": Prefix.JOB,
    "operation": Prefix.OPERATION,
    "delivery": Prefix.DELIVERY,
}
_HOUR: Final = timedelta(hours=1)
_DAY: Final = timedelta(days=1)
_WEEK: Final = timedelta(days=7)
_AGES: Final[tuple[tuple[str, timedelta | None, timedelta | None], ...]] = (
    ("underAnHour", _HOUR, None),
    ("underADay", _DAY, _HOUR),
    ("underAWeek", _WEEK, _DAY),
    ("older", None, _WEEK),
)
"""Names of ages, with what is younger than and what is not."""


class LetterView(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One dead letter."""

    id: str
    """The job, or the record that a job served."""
    of: str
    """`job`, `operation` or `delivery`."""
    kind: str
    """The job's; of a record, that of the job that served it."""
    queue: str
    operation: str | None
    state: str | None
    """Of a delivery: `needs_review` or `failed`."""
    job_id: str | None
    order_id: str | None
    shop_order_id: str | None
    customer_id: str | None
    entitlement_id: str | None
    correlation_id: str
    code: str
    """Why it is dead."""
    error_code: str | None
    """What its last attempt met, where the code does not say it."""
    attempts: int
    died_at: Moment
    acknowledged_at: Moment | None
    """When somebody said that they see to it, the last time."""
    acknowledged_by: str | None
    twin: str | None
    """A live job with the same unique key: while it lives, no retry is possible."""


class AgesView(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """How many died how long ago."""

    under_an_hour: int
    under_a_day: int
    under_a_week: int
    older: int


class CauseView(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Letters that have one cause."""

    kind: str
    code: str
    error_code: str | None
    count: CountView
    ages: AgesView
    """Of each no more than 10,000 are counted."""
    oldest: Moment
    newest: Moment
    sample: str
    """The newest of them."""


class CausesView(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """All causes, the most frequent first."""

    items: tuple[CauseView, ...]
    has_more: bool
    """Whether there are more causes than are looked at."""
    as_of: AsOfView


def letter_view(letter: Letter, _shown: AsOf) -> LetterView:
    """Return one letter."""
    return LetterView(
        id=told(_PREFIXES[letter.stream_kind], letter.stream_id),
        of=letter.stream_kind,
        kind=letter.kind,
        queue=letter.queue,
        operation=letter.operation,
        state=None if letter.delivery is None else letter.delivery.state,
        job_id=told_if(Prefix.JOB, letter.job_id),
        order_id=told_if(Prefix.ORDER, letter.order_stream_id),
        shop_order_id=letter.order_id,
        customer_id=letter.customer_id,
        entitlement_id=told_if(Prefix.ENTITLEMENT, letter.entitlement_id),
        correlation_id=letter.correlation_id,
        code=letter.code,
        error_code=letter.error_code,
        attempts=letter.attempt,
        died_at=moment(letter.died_at),
        acknowledged_at=moment_if(letter.acknowledged_at),
        acknowledged_by=letter.acknowledged_by,
        twin=told_if(Prefix.JOB, letter.twin),
    )


@route(
    "GET",
    "/dead-letters",
    permission=Permission.JOBS_READ,
    query=list_query,
    problems=LIST_PROBLEMS,
)
def list_dead_letters(
    wanted: NamedDependency[ListQuery], call: NamedDependency[Call]
) -> Response[ListView[LetterView]]:
    """List what nothing runs again without a person, the last that died first."""
    return listed(
        call, wanted, _OFFER, call.services.queries.letters.asked, letter_view
    )


@route(
    "GET",
    "/dead-letters/causes",
    permission=Permission.JOBS_READ,
    problems=("position_ahead", "projection_behind"),
)
def list_causes(
    call: NamedDependency[Call], at_position: AtPosition = None
) -> Response[CausesView]:
    """Group dead letters by their cause, and count each cause by age."""
    at_least = no_older_than(call, at_position)
    ask = call.services.queries.letters.causes
    with told_if_behind(_OFFER.name):
        whole = ask(LetterFilter(tenant_id=call.tenant_id), at_least=at_least)
    ages = {
        name: _counts(
            ask(
                LetterFilter(
                    tenant_id=call.tenant_id, younger_than=younger, older_than=older
                )
            )
        )
        for name, younger, older in _AGES
    }
    return Response(
        CausesView(
            items=tuple(_cause(each, ages) for each in whole.causes),
            has_more=whole.has_more,
            as_of=as_of(whole.as_of),
        )
    )


type _Key = tuple[str, str, str | None]


def _key(cause: Cause) -> _Key:
    return cause.kind, cause.code, cause.error_code


def _counts(causes: Causes) -> dict[_Key, int]:
    return {_key(each): each.count.value for each in causes.causes}


def _cause(cause: Cause, ages: dict[str, dict[_Key, int]]) -> CauseView:
    of_age = {name: counts.get(_key(cause), 0) for name, counts in ages.items()}
    return CauseView(
        kind=cause.kind,
        code=cause.code,
        error_code=cause.error_code,
        count=CountView(value=cause.count.value, relation=cause.count.relation),
        ages=msgspec.convert(of_age, AgesView),
        oldest=moment(cause.oldest),
        newest=moment(cause.newest),
        sample=told(_PREFIXES[cause.sample_kind], cause.sample),
    )


def routes(surface: Surface) -> Sequence[HTTPRouteHandler]:
    """Return the routes of dead letters that are only looked at."""
    return (list_dead_letters, list_causes) if surface in OPERATORS else ()
