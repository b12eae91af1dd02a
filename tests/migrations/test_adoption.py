"""A schema that somebody else made is adopted if it is ours, else refused."""

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from infrastructure.errors import SchemaDiffersError, SchemaTooOldError
from infrastructure.postgres.migration_files import migrations_folder, read_migrations
from infrastructure.postgres.migrator import check, migrate, require_current
from infrastructure.postgres.schema_difference import MOST_LINES, difference
from tests.fixtures.database import ON_BOTH_SERVERS, TestServer

pytestmark = pytest.mark.database

SCRATCH = "SELECT count(*) FROM pg_database WHERE datname LIKE 'counterfoil_scratch_%'"

# Statements run with the schema in the search path.
DIFFERENCES = [
    ("DROP INDEX parcels_by_place", "missing: index counterfoil.parcels_by_place"),
    ("CREATE TABLE more ()", "not ours: table counterfoil.more"),
    ("ALTER TABLE parcels ADD note text", "not ours: column counterfoil.parcels.note"),
    (
        "ALTER TABLE parcels ALTER weight_g SET DEFAULT 1",
        "column counterfoil.parcels.w",
    ),
    (
        "ALTER TABLE parcels ALTER weight_g DROP NOT NULL",
        "column counterfoil.parcels.w",
    ),
    (
        "DROP VIEW light; ALTER TABLE parcels ALTER place TYPE varchar(9)",
        "differs: column counterfoil.parcels.place",
    ),
    ("ALTER TABLE parcels SET (fillfactor = 80)", "differs: table counterfoil.parcels"),
    ("ALTER TABLE parcels ENABLE ROW LEVEL SECURITY", "row security"),
    (
        "ALTER TABLE parcels DROP CONSTRAINT parcels_weigh_something",
        "missing: constraint parcels_weigh_something on counterfoil.parcels",
    ),
    (
        (
            "CREATE OR REPLACE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql "
            "AS $$ BEGIN RETURN OLD; END $$"
        ),
        "differs: function counterfoil.refuse()",
    ),
    (
        "ALTER TABLE parcels DISABLE TRIGGER no_delete",
        "differs: trigger no_delete on counterfoil.parcels",
    ),
    ("DROP TRIGGER no_delete ON parcels", "missing: trigger no_delete on counterfoil"),
    ("ALTER SEQUENCE parcel_numbers CACHE 10", "sequence counterfoil.parcel_numbers"),
    (
        "CREATE OR REPLACE VIEW light AS SELECT * FROM parcels WHERE weight_g < 200",
        "differs: view counterfoil.light",
    ),
    ("CREATE TYPE size AS ENUM ('s', 'm')", "not ours: type counterfoil.size"),
    ("CREATE DOMAIN grams AS int CHECK (VALUE > 0)", "not ours: domain counterfoil.gr"),
    (
        "CREATE RULE nothing AS ON INSERT TO parcels DO ALSO NOTHING",
        "not ours: rule nothing on counterfoil.parcels",
    ),
]


def make_by_hand(conninfo: str, folder: Path, *more: str) -> None:
    with psycopg.connect(conninfo) as connection:
        connection.execute("CREATE SCHEMA counterfoil")
        for migration in read_migrations(folder):
            connection.execute(migration.sql)
        connection.execute("SET LOCAL search_path = counterfoil")
        for statement in more:
            connection.execute(statement.encode())


def count_scratch(conninfo: str) -> object:
    with psycopg.connect(conninfo) as connection:
        return connection.execute(SCRATCH).fetchone()


@ON_BOTH_SERVERS
def test_our_schema_made_by_hand_is_adopted(empty_database: str) -> None:
    make_by_hand(empty_database, migrations_folder())

    first = migrate(empty_database)
    second = migrate(empty_database)

    assert (first.adopted, first.done) == (True, check(empty_database).applied)
    assert (second.adopted, second.done) == (False, ())
    require_current(empty_database)
    assert count_scratch(empty_database) == (0,)


def test_data_and_history_of_a_schema_do_not_matter(
    empty_database: str, folder: Path
) -> None:
    make_by_hand(
        empty_database,
        folder,
        "INSERT INTO counterfoil.parcels (parcel_id) VALUES (1)",
        "ALTER TABLE counterfoil.parcels ADD gone text",
        "ALTER TABLE counterfoil.parcels DROP gone",
        "COMMENT ON TABLE counterfoil.parcels IS 'kept by hand'",
        "GRANT SELECT ON counterfoil.parcels TO PUBLIC",
        "SELECT nextval('counterfoil.parcel_numbers')",
    )

    assert migrate(empty_database, folder).adopted


@pytest.mark.parametrize(("change", "told"), DIFFERENCES)
def test_a_different_schema_is_refused_with_the_difference(
    empty_database: str, folder: Path, change: str, told: str
) -> None:
    make_by_hand(empty_database, folder, change)

    with pytest.raises(SchemaDiffersError) as refused:
        migrate(empty_database, folder)

    assert any(told in line for line in refused.value.difference), (
        refused.value.difference
    )
    assert check(empty_database, folder).applied == ()
    assert count_scratch(empty_database) == (0,)


def test_a_schema_that_has_nothing_to_do_with_us_is_refused_briefly(
    empty_database: str, folder: Path
) -> None:
    with psycopg.connect(empty_database) as connection:
        connection.execute("CREATE SCHEMA counterfoil")
        for number in range(40):
            connection.execute(f"CREATE TABLE counterfoil.t{number} ()".encode())

    with pytest.raises(SchemaDiffersError) as refused:
        migrate(empty_database, folder)

    assert len(refused.value.difference) == MOST_LINES
    assert refused.value.difference[-1].endswith("more")


def test_anothers_book_of_migrations_in_our_schema_is_not_taken_for_ours(
    empty_database: str,
) -> None:
    """Rails and others keep a `schema_migrations` too; the difference is told."""
    with psycopg.connect(empty_database) as connection:
        connection.execute(
            """
            CREATE SCHEMA counterfoil;
            CREATE TABLE counterfoil.schema_migrations (version text PRIMARY KEY);
            CREATE TABLE counterfoil.users (id int)
            """
        )

    with pytest.raises(SchemaDiffersError, match="differs from ours"):
        migrate(empty_database)
    with pytest.raises(SchemaTooOldError):
        require_current(empty_database)


def test_a_schema_that_was_made_ready_for_us_is_filled(
    empty_database: str, folder: Path
) -> None:
    with psycopg.connect(empty_database) as connection:
        connection.execute("CREATE SCHEMA counterfoil")

    report = migrate(empty_database, folder)

    assert (report.adopted, len(report.done)) == (False, 3)


def test_a_scratch_database_left_by_a_kill_is_replaced(
    empty_database: str, folder: Path
) -> None:
    make_by_hand(empty_database, folder)
    with psycopg.connect(empty_database, autocommit=True) as connection:
        row = connection.execute(
            "SELECT oid FROM pg_database WHERE datname = current_database()"
        ).fetchone()
        assert row
        left = sql.Identifier(f"counterfoil_scratch_{row[0]}")
        connection.execute(sql.SQL("CREATE DATABASE {}").format(left))

    assert migrate(empty_database, folder).adopted
    assert count_scratch(empty_database) == (0,)


@pytest.fixture
def limited(empty_database: str, database_server: TestServer) -> Iterator[str]:
    """The address of the same database for a role that may not create databases."""
    del database_server
    with psycopg.connect(empty_database, autocommit=True) as connection:
        connection.execute("DROP ROLE IF EXISTS limited")
        connection.execute("CREATE ROLE limited LOGIN")
        name = sql.Identifier(connection.info.dbname)
        grant = sql.SQL("GRANT CREATE ON DATABASE {} TO limited")
        connection.execute(grant.format(name))
        yield empty_database.replace("postgres@", "limited@")
        connection.execute("DROP OWNED BY limited CASCADE")
        connection.execute("DROP ROLE limited")


def test_a_role_that_may_not_compare_is_told_so(limited: str, folder: Path) -> None:
    make_by_hand(limited, folder)

    with pytest.raises(SchemaDiffersError, match="CREATEDB"):
        migrate(limited, folder)

    assert check(limited, folder).applied == ()


def test_a_role_without_any_extra_right_can_migrate(limited: str, folder: Path) -> None:
    assert len(migrate(limited, folder).done) == 3


def test_equal_descriptions_have_no_difference() -> None:
    assert difference({"table a": "x"}, {"table a": "x"}) == ()


def test_a_long_definition_is_shown_where_it_differs() -> None:
    (line,) = difference(
        {"function f": "a" * 500 + "b"}, {"function f": "a" * 500 + "c"}
    )

    assert line.startswith("differs: function f: is “…")
    assert line.count("b”") == line.count("c”") == 1
    assert len(line) < 200
