"""A look at many things at once says what a look at each of them would say."""

from uuid import UUID

import pytest

from application.errors import NotFoundError, StateConflictError
from application.operators.target import Target, Targets
from infrastructure.bulk.glance import Glance
from infrastructure.ids import new_id
from infrastructure.postgres.streams import PostgresStreams
from tests.operators.world import GENERIC, SERVED, World, bring

pytestmark = pytest.mark.database

STATES = ("succeeded", "discarded", "cancelled", "parked", "running")


def found(targets: Targets, id_: UUID) -> Target | str:
    """Return what an id stands for, or why not."""
    try:
        return targets.find(str(id_))
    except NotFoundError as error:
        return error.code
    except StateConflictError as error:
        return error.state


def test_what_is_seen_together_is_what_is_seen_one_by_one(world: World) -> None:
    dead, _ = bring(world, "discarded", GENERIC)
    ids = [new_id(), dead]
    for state in STATES:
        for kind in (GENERIC, SERVED):
            job, operation = bring(world, state, kind)
            ids += [job] if operation is None else [job, operation]
    ids.append(world.report())
    world.retry(dead)
    one_by_one = PostgresStreams(world.database)

    together = Glance(world.database, ids)

    plain = Targets(one_by_one, one_by_one, world.kinds)
    seen = Targets(together, together, world.kinds)
    for id_ in (*ids, new_id()):
        target = found(plain, id_)
        assert found(seen, id_) == target
        refs = target.refs if isinstance(target, Target) else ()
        assert [together.head(ref) for ref in refs] == [
            one_by_one.head(ref) for ref in refs
        ]
        key = target.unique_key if isinstance(target, Target) else None
        if key is not None:
            live = one_by_one.live_job_with_key("default", key)
            assert together.live_job_with_key("default", key) == live
        assert together.last_event(id_) == one_by_one.last_event(id_)
