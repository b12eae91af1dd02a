"""What a page says, what may be asked for, and what is refused."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.errors import InvalidRequestError
from projections.queries.listing import BY_CREATION
from projections.queries.page import Count, Edge
from projections.queries.terms import MOST_VALUES, Among, Asked, Between, Term, check
from projections.reading import UnknownProjectionError, reading
from tests.fixtures.database import TestDatabase
from tests.projections.queries.asking import ask, looking
from tests.projections.queries.things import (
    BEGAN,
    RED_ONES,
    THINGS,
    Thing,
    add,
    population,
    thing,
)

pytestmark = pytest.mark.database

type Connection = psycopg.Connection[Any]


def test_a_thousand_of_one_microsecond_are_each_listed_once(
    connection: Connection,
) -> None:
    """GoodJob #1725: who pages by time alone skips those of the same instant."""
    add(connection, [thing(n) for n in range(1000)])

    seen: list[Thing] = []
    after = None
    while True:
        page = ask(connection, Asked(after=after, limit=150))
        seen += page.items
        if page.next is None:
            break
        after = THINGS.edge(str(page.next))

    assert [it.stream_id.int for it in seen] == list(range(999, -1, -1))


def test_what_came_meanwhile_moves_nothing_on_the_next_page(
    connection: Connection,
) -> None:
    add(connection, [thing(n) for n in range(10)])
    first = ask(connection, Asked(limit=5))

    add(connection, [thing(n, at=BEGAN + timedelta(hours=1)) for n in range(10, 20)])
    second = ask(connection, Asked(limit=5, after=first.next))

    assert [it.stream_id.int for it in second.items] == [4, 3, 2, 1, 0]
    assert second.next is None
    back = ask(connection, Asked(limit=5, before=second.prev))
    assert back.items == first.items
    newest = ask(connection, Asked(limit=5, before=back.prev))
    assert [it.stream_id.int for it in newest.items] == [14, 13, 12, 11, 10]


def test_an_empty_list_is_a_page_as_of_the_beginning(connection: Connection) -> None:
    """Of a projection that never ran nothing is known yet, and that is what is told."""
    page = ask(connection, Asked(is_counted=True))

    assert page.items == ()
    assert page.next is None
    assert page.prev is None
    assert page.count == Count(0, "eq")
    assert page.as_of.position == 0


def test_a_page_tells_how_far_its_read_model_is(connection: Connection) -> None:
    connection.execute(
        "INSERT INTO counterfoil.checkpoints (name, position)"
        " VALUES ('things_a:counterfoil', 7), ('things_b:counterfoil', 9)"
    )

    page = ask(connection, Asked())

    assert page.as_of.position == 7


def test_one_look_shows_one_table_while_they_are_swapped(
    database: TestDatabase, connection: Connection
) -> None:
    """Rows, position and slot are of one snapshot, whenever the swap commits."""
    add(connection, [thing(n) for n in range(6)], "a")
    add(connection, [thing(n) for n in range(100, 106)], "b")
    connection.execute(
        "INSERT INTO counterfoil.checkpoints (name, position)"
        " VALUES ('things_a:counterfoil', 6), ('things_b:counterfoil', 106)"
    )

    with looking(connection) as look:
        first = THINGS.read(look, Asked(limit=3))
        other = database.connect()
        other.execute("UPDATE counterfoil.projections SET live = 'b'")
        other.execute("DELETE FROM counterfoil.checkpoints WHERE name LIKE 'things_a%'")
        second = THINGS.read(look, Asked(limit=3, after=first.next))
    later = ask(connection, Asked(limit=3))

    assert [it.stream_id.int for it in second.items] == [2, 1, 0]
    assert second.as_of == first.as_of
    assert first.as_of.position == 6
    assert [it.stream_id.int for it in later.items] == [105, 104, 103]
    assert later.as_of.position == 106


def test_of_several_read_models_the_slowest_one_says_how_far_they_are(
    database: TestDatabase, connection: Connection
) -> None:
    connection.execute(
        "INSERT INTO counterfoil.projections (name, live, schema)"
        " VALUES ('others', 'b', 1)"
    )
    connection.execute(
        "INSERT INTO counterfoil.checkpoints (name, position)"
        " VALUES ('things_a:counterfoil', 7), ('others_b:counterfoil', 5)"
    )

    with reading(database.connect, "things", "others") as look:
        told = {name: table.as_string() for name, table in look.tables.items()}

    assert look.position == 5
    assert told == {
        "things": '"counterfoil"."read_things_a"',
        "others": '"counterfoil"."read_others_b"',
    }
    assert look.table is look.tables["things"]


def test_a_projection_that_the_database_does_not_know_names_the_remedy(
    database: TestDatabase,
) -> None:
    with (
        pytest.raises(UnknownProjectionError, match=r"nowhere.*counterfoil migrate"),
        reading(database.connect, "nowhere"),
    ):
        pass


def test_a_look_changes_nothing(connection: Connection) -> None:
    with (
        looking(connection) as look,
        pytest.raises(psycopg.errors.ReadOnlySqlTransaction),
    ):
        look.connection.execute("DELETE FROM counterfoil.read_things_a")


def test_ids_are_found_whichever_they_are(connection: Connection) -> None:
    add(connection, [thing(n) for n in range(20)])
    ids = tuple(UUID(int=n) for n in (3, 5, 3, 99, 18))

    page = ask(connection, Asked(terms=(Among("id", ids),), is_counted=True))
    red = ask(connection, Asked(terms=(Among("id", ids), Among("colour", ("red",)))))

    assert [it.stream_id.int for it in page.items] == [18, 5, 3]
    assert page.count == Count(3, "eq")
    assert red.items == ()


def test_ages_are_by_the_clock_of_the_database(
    database: TestDatabase, connection: Connection
) -> None:
    ((now,),) = connection.execute("SELECT counterfoil.now()").fetchall()
    add(connection, [thing(n, at=now - timedelta(hours=n)) for n in range(10)])
    database.advance(timedelta(hours=2))

    old = Between("age", below=timedelta(hours=8))
    young = Between("age", least=timedelta(hours=5))
    ever = Between("age", least=timedelta.max)
    told = [ask(connection, Asked(terms=(term,))) for term in (old, young, ever)]

    assert [it.stream_id.int for it in told[0].items] == [6, 7, 8, 9]
    assert [it.stream_id.int for it in told[1].items] == [0, 1, 2]
    assert len(told[2].items) == 10


def test_counting_ends_where_it_stops_to_be_cheap(connection: Connection) -> None:
    connection.execute(
        "INSERT INTO counterfoil.read_things_a (stream_id, created_at, colour, size)"
        " SELECT md5(n::text)::uuid, %s, CASE WHEN n %% 100 = 0 THEN 'red' ELSE"
        " 'blue' END, n %% 2 FROM generate_series(1, 10100) n",
        (BEGAN,),
    )

    def counted(*terms: Term) -> Count | None:
        return ask(connection, Asked(terms=terms, limit=1, is_counted=True)).count

    assert counted() == Count(10_000, "gte")
    assert counted(Among("colour", ("blue",))) == Count(9_999, "eq")
    assert counted(Among("colour", ("red", "blue"))) == Count(10_000, "gte")
    assert counted(Among("colour", ("red",))) == Count(101, "eq")
    assert counted(Among("size", (0,)), Between("created", least=BEGAN)) == Count(
        5_050, "eq"
    )


def test_what_is_rare_among_common_rows_is_looked_for_page_by_page(
    connection: Connection,
) -> None:
    """Common here and common there, together nowhere: no page looks at everything."""
    connection.execute(
        "INSERT INTO counterfoil.read_things_a (stream_id, created_at, colour, size,"
        " mark) SELECT md5(n::text)::uuid, %s + n * interval '1 ms', 'red', 1,"
        " CASE WHEN n <= 6000 THEN 'old' ELSE 'new' END FROM"
        " generate_series(1, 12000) n",
        (BEGAN,),
    )
    connection.execute(
        "UPDATE counterfoil.read_things_a SET colour = 'blue' WHERE mark = 'new'"
        " OR created_at = %s",
        (BEGAN + timedelta(milliseconds=10),),
    )
    asked = Asked(terms=(Among("colour", ("red",)), Among("mark", ("new",))))

    first = ask(connection, asked)

    assert first.items == ()
    assert first.next is not None
    second = ask(
        connection, Asked(terms=asked.terms, after=first.next, is_counted=True)
    )
    assert second.items == ()
    assert second.next is None
    assert second.count == Count(0, "eq")


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        (Asked(limit=0), "invalid_page: limit: must be from 1 to 200"),
        (Asked(limit=201), "invalid_page: limit"),
        (Asked(after=Edge((1,)), before=Edge((2,))), "invalid_page: before"),
        (Asked(terms=(Among("shape", ("round",)),)), "shape: not a field; there are"),
        (Asked(terms=(Among("colour", ()),)), "colour: must have from 1 to 100"),
        (
            Asked(terms=(Among("size", tuple(range(MOST_VALUES + 1))),)),
            "size: must have from 1 to 100",
        ),
        (Asked(terms=(Among("colour", (1,)),)), "colour: is of type text"),
        (Asked(terms=(Among("colour", ("a\0",)),)), "colour: is of type text"),
        (Asked(terms=(Among("colour", ("\ud800",)),)), "colour: is of type text"),
        (Asked(terms=(Among("size", (1 << 31,)),)), "size: is of type integer"),
        (Asked(terms=(Among("size", (True,)),)), "size: is of type integer"),
        (Asked(terms=(Among("id", ("x",)),)), "id: is of type uuid"),
        (Asked(terms=(Among("created", (BEGAN,)),)), "created: takes bounds"),
        (Asked(terms=(Among("due", (BEGAN,)),)), "due: takes bounds"),
        (Asked(terms=(Between("created"),)), "created: needs a bound"),
        (Asked(terms=(Between("size", least=BEGAN),)), "size: integer cannot"),
        (Asked(terms=(Between("size", below=timedelta()),)), "size: integer cannot"),
        (Asked(terms=(Between("age", least=datetime(1, 1, 1)),)), "age: "),  # noqa: DTZ001 - that is what is refused
        (Asked(terms=(Between("size", least=1),) * 13), "at most 12 terms"),
    ],
)
def test_what_a_list_does_not_have_is_refused_by_name(asked: Asked, told: str) -> None:
    with pytest.raises(InvalidRequestError, match=told):
        check(asked, THINGS.fields, leading="created_at")


PLACES = st.builds(
    Edge,
    st.tuples(
        st.datetimes(timezones=st.just(UTC)),
        st.uuids(),
        st.text(st.characters(codec="utf-8")),
        st.integers(0, 9),
    ).filter(lambda key: "\0" not in key[2]),
    st.booleans(),
)


@given(edge=PLACES)
def test_a_place_survives_as_text(edge: Edge) -> None:
    assert Edge.parse(str(edge), (datetime, UUID, str, int)) == edge


@given(text=st.text(alphabet="=~-0123456789abcdefTZ:+.%") | st.text())
def test_a_text_that_is_no_place_is_refused(text: str) -> None:
    kinds = tuple(kind for _, kind in BY_CREATION)
    try:
        edge = Edge.parse(text, kinds)
    except InvalidRequestError:
        return
    assert Edge.parse(str(edge), kinds) == edge


def test_a_rare_value_leads_whatever_the_others_are(connection: Connection) -> None:
    rows = population(400)
    add(connection, rows)
    grey = sorted(
        (it for it in rows if it.colour == "grey"),
        key=lambda it: (it.created_at, it.stream_id),
        reverse=True,
    )

    terms = (Among("size", (1, 2, 3)), Among("colour", ("grey",)))
    page = ask(connection, Asked(terms=terms, limit=200))

    assert list(page.items) == grey
    assert grey


def test_a_list_of_some_rows_shows_and_counts_no_others(connection: Connection) -> None:
    rows = population(80)
    add(connection, rows)
    red = {it.stream_id for it in rows if it.colour == "red"}
    due = Between("due", least=BEGAN)

    for terms in ((), (Among("size", (1, 2, 3)),), (due,)):
        asked = Asked(terms=terms, limit=200, is_counted=True)
        page = ask(connection, asked, RED_ONES)
        assert {it.stream_id for it in page.items} <= red
        assert page.count == Count(len(page.items), "eq")
    ids = tuple(it.stream_id for it in rows[:50])
    page = ask(connection, Asked(terms=(Among("id", ids),), limit=200), RED_ONES)
    assert {it.stream_id for it in page.items} == red & set(ids)
