"""Every move of every checkpoint, written down by the database itself.

It shares no code with the product: a trigger writes from where to where, and which
process it was.  If each move begins where the one before it ended, no batch was
written twice and none was left out, whoever wrote.
"""

from typing import Any

import psycopg

from projections.read_models.all import ALL

LEDGER = """
CREATE TABLE counterfoil.test_moves (
    n     bigint GENERATED ALWAYS AS IDENTITY,
    name  text   NOT NULL,
    start bigint NOT NULL,
    stop  bigint NOT NULL,
    who   text   NOT NULL DEFAULT current_setting('application_name')
);
CREATE FUNCTION counterfoil.test_moved() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO counterfoil.test_moves (name, start, stop)
    VALUES (NEW.name, OLD.position, NEW.position);
    RETURN NULL;
END
$$;
CREATE TRIGGER test_moved AFTER UPDATE ON counterfoil.checkpoints
FOR EACH ROW EXECUTE FUNCTION counterfoil.test_moved();
"""

CHAINS = """
SELECT name, array_agg(start ORDER BY n), array_agg(stop ORDER BY n)
  FROM counterfoil.test_moves
 GROUP BY name
"""


def keep_a_ledger(connection: psycopg.Connection[Any]) -> None:
    """Write down every move from now on."""
    connection.execute(LEDGER)


def n_moves(connection: psycopg.Connection[Any]) -> int:
    """Return how many batches have been committed."""
    ((n,),) = connection.execute("SELECT count(*) FROM counterfoil.test_moves")
    return int(n)


def who_moved(connection: psycopg.Connection[Any], after: int = 0) -> set[str]:
    """Return the processes that have committed a batch, after the first few."""
    rows = connection.execute(
        "SELECT DISTINCT who FROM counterfoil.test_moves WHERE n > %s", (after,)
    )
    return {str(who) for (who,) in rows}


def assert_moved_once(connection: psycopg.Connection[Any]) -> None:
    """Fail unless every projection moved from 0 on, without a gap or a step back."""
    chains = connection.execute(CHAINS).fetchall()
    assert len(chains) == len(ALL)
    for name, starts, stops in chains:
        assert starts == [0, *stops[:-1]], name
        assert all(a < b for a, b in zip(starts, stops, strict=True)), name
