"""Causes and lists: every letter once in each, whatever is asked for."""

from collections import defaultdict
from collections.abc import Iterator
from datetime import timedelta
from random import Random
from typing import Any
from uuid import UUID

import pytest

from domain.errors import InvalidRequestError
from infrastructure.ids import new_id
from projections.queries.letters.filter import LetterFilter
from projections.queries.letters.listing import Letter
from tests.projections.letters.conftest import Office

pytestmark = pytest.mark.database

LETTERS = 300

LAY = """
INSERT INTO counterfoil.read_dead_letters_a
       (stream_id, tenant_id, stream_kind, state, kind, queue, job_id, correlation_id,
        code, error_code, attempt, died_at, created_at, updated_at)
VALUES (%s, %s, 'job', 'open', %s, %s, %s, 'mine', %s, %s, 1,
        counterfoil.now() - %s, counterfoil.now(), counterfoil.now())
"""


@pytest.fixture
def many(office: Office) -> Office:
    """Letters of few causes and instants, so that each has its neighbours."""
    dice = Random(7)  # noqa: S311 - the same ones in every run
    rows: list[tuple[object, ...]] = []
    for _ in range(LETTERS):
        id_ = new_id()
        rows.append(
            (
                id_,
                dice.choice(["default", "other"]),
                dice.choice(["mail", "report"]),
                dice.choice(["default", "bulk"]),
                id_,
                dice.choice(["permanent", "budget_spent"]),
                dice.choice([None, "", "http_422", "http_502", "é"]),
                timedelta(hours=dice.randrange(5) + 0.5),
            )
        )
    with office.connection.transaction(), office.connection.cursor() as cursor:
        cursor.executemany(LAY, rows)
    return office


def pages(office: Office, wanted: LetterFilter, limit: int) -> Iterator[Letter]:
    """Yield every letter that fits, page by page."""
    after = None
    while True:
        page = office.letters.page(wanted, after=after, limit=limit)
        assert page is not None
        assert len(page.items) <= limit
        yield from page.items
        if page.next is None:
            return
        after = page.next


FILTERS = {
    "all": LetterFilter(),
    "a tenant": LetterFilter(tenant_id="other"),
    "a kind": LetterFilter(kinds=("mail",)),
    "a cause": LetterFilter(kinds=("mail",), codes=("permanent",)),
    "two codes": LetterFilter(codes=("permanent", "budget_spent")),
    "what was met": LetterFilter(error_codes=("http_422",)),
    "older": LetterFilter(older_than=timedelta(hours=2)),
    "younger": LetterFilter(younger_than=timedelta(hours=3)),
    "between, of a tenant": LetterFilter(
        tenant_id="other",
        older_than=timedelta(hours=1),
        younger_than=timedelta(hours=3),
    ),
    "nothing": LetterFilter(kinds=("unknown",)),
}


def test_causes_are_the_groups_of_the_list_whatever_is_asked_for(many: Office) -> None:
    for name, wanted in FILTERS.items():
        groups = defaultdict[tuple[str, str, str | None], list[Letter]](list)
        for letter in pages(many, wanted, limit=200):
            met = letter.error_code or None
            groups[letter.kind, letter.code, met].append(letter)

        causes = many.letters.causes(wanted)

        assert not causes.has_more
        assert {
            (each.kind, each.code, each.error_code): (
                each.count.value,
                each.oldest,
                each.newest,
                each.sample,
            )
            for each in causes.causes
        } == {
            key: (len(of), of[-1].died_at, of[0].died_at, of[0].stream_id)
            for key, of in groups.items()
        }, name
        assert all(each.count.relation == "eq" for each in causes.causes)
        values = [each.count.value for each in causes.causes]
        assert values == sorted(values, reverse=True)


def test_pages_show_every_letter_once_the_last_that_died_first(many: Office) -> None:
    whole = list(pages(many, LetterFilter(), limit=200))

    assert len(whole) == LETTERS
    order = [(letter.died_at, letter.stream_id) for letter in whole]
    assert order == sorted(order, reverse=True)
    for name, wanted in FILTERS.items():
        in_pages = list(pages(many, wanted, limit=7))
        assert in_pages == list(pages(many, wanted, limit=200)), name


def test_a_queue_and_an_order_are_asked_of_the_list_alone(many: Office) -> None:
    letters = list(pages(many, LetterFilter(queues=("bulk",)), limit=50))

    assert letters
    assert {letter.queue for letter in letters} == {"bulk"}
    for nobody in ("never settled", "\0", "\ud800"):
        assert many.letters.page(LetterFilter(order=nobody)) is None
    for ask in (many.letters.causes, many.letters.page):
        with pytest.raises(InvalidRequestError, match="tenant"):
            ask(LetterFilter(tenant_id="\0"))
    for wanted in (LetterFilter(queues=("bulk",)), LetterFilter(order="shop:1")):
        with pytest.raises(InvalidRequestError, match="filters of the list"):
            many.letters.causes(wanted)


def test_what_a_projection_has_set_aside_is_one_letter_a_stream(office: Office) -> None:
    one, other = UUID(int=1), UUID(int=2)
    with office.connection.cursor() as cursor:
        cursor.executemany(
            """
            INSERT INTO counterfoil.projection_set_aside
                   (projection, slot, position, tenant_id, stream_id, version, type,
                    reason)
            VALUES (%s, %s, %s, %s, %s, 1, 'job.claimed', 'behind 3')
            """,
            [
                ("jobs", "a", 3, "default", one),
                ("jobs", "a", 4, "default", one),
                ("jobs", "a", 5, "other", other),
                ("jobs", "b", 6, "default", other),  # of no slot that is read
            ],
        )

    def streams(**wanted: Any) -> list[tuple[UUID, int, int]]:  # noqa: ANN401 - of the filter
        found = office.letters.set_aside(LetterFilter(**wanted))
        return sorted((it.stream_id, it.position, it.events) for it in found)

    assert streams() == [(one, 3, 2), (other, 5, 1)]
    assert streams(tenant_id="other") == [(other, 5, 1)]
    assert streams(kinds=("projection",), codes=("jobs",)) == streams()
    assert streams(younger_than=timedelta(hours=1)) == streams()
    nothings: list[dict[str, Any]] = [
        {"kinds": ("mail",)},
        {"codes": ("orders",)},
        {"queues": ("default",)},
        {"order": "shop:1"},
        {"older_than": timedelta(hours=1)},
    ]
    for nothing in nothings:
        assert streams(**nothing) == []
