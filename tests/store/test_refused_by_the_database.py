"""A rule that the database keeps itself refuses one group, and none of its batch."""

import pytest

from application.unit import Refused, Written
from infrastructure.postgres.batch_store import BatchStore
from tests.fixtures.database import ON_BOTH_SERVERS, TestDatabase
from tests.store.groups import births, job_birth, tags

pytestmark = [ON_BOTH_SERVERS, pytest.mark.usefixtures("heads_equal_folds")]

RULE = """
CREATE FUNCTION counterfoil.refuse_barred() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'barred' USING ERRCODE = 'CF409', HINT = NEW.args->>'code';
END $$;
CREATE TRIGGER barred BEFORE INSERT ON counterfoil.jobs
    FOR EACH ROW WHEN (NEW.args ? 'code') EXECUTE FUNCTION counterfoil.refuse_barred()
"""


def test_each_refused_group_gets_its_own_code_and_the_others_are_written(
    database: TestDatabase, store: BatchStore
) -> None:
    connection = database.connect()
    connection.execute(RULE)
    good = [job_birth() for _ in range(6)]
    groups = [births(each) for each in good]
    groups.insert(2, births(job_birth(), job_birth(args={"code": "quarantined"})))
    groups.insert(6, births(job_birth(args={"code": "spend_limit"})))

    results = store.commit(groups)

    assert results[2] == Refused("quarantined")
    assert results[6] == Refused("spend_limit")
    assert sum(isinstance(each, Written) for each in results) == len(good)
    assert len(tags(connection, *(each.ref for each in good))) == len(good)
    assert connection.execute("SELECT count(*) FROM counterfoil.jobs").fetchone() == (
        len(good),
    )
