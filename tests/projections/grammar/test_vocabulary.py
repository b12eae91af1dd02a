"""What filters mean in the fields that lists have."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from projections.queries.grammar.clauses import Clause, Sign, printed
from projections.queries.grammar.declared import (
    AUDIT_WORDS,
    DELIVERY_WORDS,
    DRIFT_WORDS,
    ENTITLEMENT_WORDS,
    LETTER_WORDS,
    OPERATION_WORDS,
    OPERATORS_JOBS,
    ORDER_WORDS,
    SHOPS_JOBS,
)
from projections.queries.grammar.errors import (
    InvalidFilterError,
    UndeclaredFieldError,
)
from projections.queries.grammar.job_words import RIVER
from projections.queries.grammar.vocabulary import Vocabulary
from projections.queries.jobs import JOBS, ORDER
from projections.queries.letters.listing import OPEN
from projections.queries.listing import Listing
from projections.queries.records.audit import AUDIT
from projections.queries.records.deliveries import DELIVERIES
from projections.queries.records.drifts import DRIFTS
from projections.queries.records.entitlements import ENTITLEMENTS
from projections.queries.records.operations import OPERATIONS
from projections.queries.records.orders import ORDERS
from projections.queries.terms import (
    Among,
    Asked,
    Between,
    Either,
    Field,
    Term,
    check,
)

ID = UUID("01936f2e-0000-7000-8000-000000000001")
NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
SIGNS: tuple[Sign, ...] = ("", ">=", ">", "<=", "<")
TICK = timedelta(microseconds=1)
DAY = timedelta(days=1)
LAST = "9999-12-31T23:59:59.999999Z"
BEFORE_ALL = "0001-01-01T00:00:00+14:00"
TOLD_BY_STREAMS = ("customer", ORDER)
"""Asked for by texts; the list's query looks up the streams."""

LISTS: dict[str, tuple[Vocabulary, Listing[Any]]] = {
    "operators' jobs": (OPERATORS_JOBS, JOBS),
    "shops' jobs": (SHOPS_JOBS, JOBS),
    "operations": (OPERATION_WORDS, OPERATIONS),
    "deliveries": (DELIVERY_WORDS, DELIVERIES),
    "orders": (ORDER_WORDS, ORDERS),
    "entitlements": (ENTITLEMENT_WORDS, ENTITLEMENTS),
    "drifts": (DRIFT_WORDS, DRIFTS),
    "letters": (LETTER_WORDS, OPEN),
    "audit": (AUDIT_WORDS, AUDIT),
}


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("state:completed", (Among("state", ("succeeded",)),)),
        ("state:dead_letter", (Among("state", ("discarded", "cancelled")),)),
        (
            "-state:dead_letter,completed,running,scheduled,available",
            (
                Among("state", ("waiting",)),
                Either(
                    "state",
                    (
                        (
                            Among("state", ("waiting",)),
                            Among("cause", ("after_failure",)),
                        ),
                    ),
                ),
            ),
        ),
        (f"id:job_{ID},{ID}", (Among("id", (ID, ID)),)),
        (f"operation:op_{ID}", (Among("operation", (ID,)),)),
        ("errorCode:panel_5xx", (Among("error_code", ("panel_5xx",)),)),
        ('order:"shop 1"', (Among(ORDER, ("shop 1",)),)),
        ("attempt:3,4", (Among("attempt", (3, 4)),)),
        ("attempt:>3", (Between("attempt", least=4),)),
        ("-attempt:>3", (Between("attempt", below=4),)),
        ("age:>7d", (Between("age", below=7 * DAY),)),
        ("age:>=7d", (Between("age", below=7 * DAY - TICK),)),
        ("age:<=90s", (Between("age", least=timedelta(seconds=90)),)),
        ("createdAt:>=2026-11-30", (Between("created_at", NOON - DAY / 2),)),
        (
            "createdAt:<=2026-11-30T13:00:00.000000+01:00",
            (Between("created_at", below=NOON + TICK),),
        ),
        (
            "scheduledAt:>2026-11-30T12:00:00Z scheduledAt:<2026-12-01",
            (
                Between("scheduled_at", least=NOON + TICK),
                Between("scheduled_at", below=NOON + DAY / 2),
            ),
        ),
    ],
)
def test_operators_ask_for_jobs(text: str, terms: tuple[Term, ...]) -> None:
    assert OPERATORS_JOBS.terms(text) == terms


def test_shops_have_words_of_their_own() -> None:
    assert SHOPS_JOBS.terms("state:queued,failed") == (
        Among("state", ("waiting", "discarded")),
    )
    assert SHOPS_JOBS.terms("-state:queued") == (
        Among("state", ("running", "succeeded", "cancelled", "discarded")),
    )
    with pytest.raises(InvalidFilterError, match="is none of: queued, running"):
        SHOPS_JOBS.terms("state:retryable")


@pytest.mark.parametrize(
    ("text", "path", "told"),
    [
        ("state:", "filter", "a value is missing"),
        ("state:dead", "filter.state", "is none of: available, scheduled"),
        ("state:>dead", "filter.state", "takes values, not bounds"),
        ("kind:>a", "filter.kind", "takes values, not bounds"),
        ("-kind:a", "filter.kind", "cannot be negated: no index"),
        (f"-state:{','.join(RIVER)}", "filter.state", "leaves nothing"),
        ("id:job_7", "filter.id", "is an id"),
        (f"id:op_{ID}", "filter.id", "is an id"),
        ("attempt:one", "filter.attempt", "whole number of 32 bits"),
        (f"attempt:>{(1 << 31) - 1}", "filter.attempt", "whole number"),
        ("createdAt:2026-11-30", "filter.createdAt", "takes a bound"),
        ("createdAt:>=2026-11-31", "filter.createdAt", "is an instant"),
        ("createdAt:>=2026-11-30T12:00:00", "filter.createdAt", "is an instant"),
        (f"createdAt:<={LAST}", "filter.createdAt", "is an instant"),
        (f"createdAt:>={BEFORE_ALL}", "filter.createdAt", "is an instant"),
        ("age:>=7", "filter.age", "is an age: 90s, 30m, 12h or 7d"),
        ("age:>=9999999999d", "filter.age", "is an age"),
        ('kind:"\0"', "filter.kind", "is a text"),
        ('kind:"\ud800"', "filter.kind", "is a text"),
    ],
)
def test_what_is_refused_names_the_field_and_the_rule(
    text: str, path: str, told: str
) -> None:
    with pytest.raises(InvalidFilterError) as raised:
        OPERATORS_JOBS.terms(text)

    assert raised.value.path == path
    assert told in raised.value.detail


@pytest.mark.parametrize("name", ["arg.orderId", "tenant", "error_code"])
def test_what_is_not_declared_is_told_with_what_is(name: str) -> None:
    with pytest.raises(UndeclaredFieldError) as raised:
        OPERATORS_JOBS.terms(f"state:running {name}:1")

    assert raised.value.term == f"{name}:1"
    assert raised.value.declared == tuple(sorted(OPERATORS_JOBS.names))
    assert "errorCode" in raised.value.detail


@given(given_=st.data())
def test_whatever_is_accepted_the_list_accepts(given_: st.DataObject) -> None:
    vocabulary, listing = LISTS[given_.draw(st.sampled_from(sorted(LISTS)))]
    fields = dict(listing.fields) | {
        name: Field(name, "text")
        for name in TOLD_BY_STREAMS
        if name in vocabulary.names
    }
    values = st.one_of(
        st.text(max_size=8),
        st.integers().map(str),
        st.just(str(ID)),
        st.sampled_from(["7d", "2026-11-30T12:00:00Z", "true", "failed", "open"]),
        st.sampled_from([it for word in vocabulary.names.values() for it in word.words])
        if any(word.words for word in vocabulary.names.values())
        else st.nothing(),
    )
    sign = given_.draw(st.sampled_from(SIGNS))
    chosen = given_.draw(st.lists(values, min_size=1, max_size=1 if sign else 3))
    clause = Clause(
        name=given_.draw(st.sampled_from(sorted(vocabulary.names))),
        values=tuple(chosen),
        sign=sign,
        is_negated=given_.draw(st.booleans()),
    )

    try:
        terms = vocabulary.terms(printed((clause,)))
    except InvalidFilterError:
        return
    check(
        Asked(terms=terms),
        fields,
        leading=listing.order[0][0],
        conditions=listing.conditions,
    )


def test_filters_that_say_the_same_have_one_text() -> None:
    assert OPERATORS_JOBS.canonical(' state:"running"\tkind:a ') == (
        OPERATORS_JOBS.canonical("state:running kind:a")
    )
    with pytest.raises(UndeclaredFieldError):
        OPERATORS_JOBS.canonical("nothing:a")
