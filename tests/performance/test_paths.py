"""Plans are a promise: on 50,000 rows, work goes by the named indexes.

Right after a load, when the planner knows nothing, and after ANALYZE; with plans made
for the parameters and with generic ones, which is what a prepared statement may get.
"""

import pytest

from tests.access import test_plans as access
from tests.performance.goods import WALKING
from tests.performance.scenes import SCENES, Scene
from tests.performance.stage import Stage
from tests.performance.watch import Watch

pytestmark = pytest.mark.database


@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.__name__)
def test_work_goes_by_the_index_that_is_there_for_it(
    stage: Stage, scene: Scene
) -> None:
    watch = Watch(stage.parts)

    with watch.watching():
        scene(stage)

    assert not watch.walked or scene in WALKING
    assert SCENES[scene] <= watch.used


INDEXES = r"""
SELECT indexrelid::regclass::text, indisunique
  FROM pg_index
 WHERE indrelid::regclass::text LIKE 'counterfoil.%'
   AND indrelid::regclass::text NOT LIKE 'counterfoil.read\_%'  -- see lists
   AND indrelid <> 'counterfoil.outbox_gone'::regclass  -- see tests/projections/outbox
   AND indrelid <> 'counterfoil.test_clock'::regclass
"""

# What no scene looks into, or into no more than a page: these are there to refuse.
REFUSING = {
    "api_tokens_name": "a live program has a name of its own",
    "checkpoints_pkey": "a projection has one position",
    "deliveries_key": "a key belongs to one decision to buy (I2)",
    "goods_health_pkey": "a provider has one health",
    "goods_limits_pkey": "a provider has one limit",
    "goods_providers_pkey": "a provider has one row",
    "goods_spending_pkey": "a decision to buy is counted once",
    "idle_signs_pkey": "a sign is said once, and found by its end",
    "installation_pkey": "one row",
    "leadership_pkey": "a role has one holder",
    "limits_pkey": "one row",
    "lost_purchases_pkey": "a lost purchase is told once",
    "operations_idempotency_key": "an operation is asked for once per key (I5)",
    "outbox_pkey": "one message per event (I8)",
    "pending_counts_pkey": "a count is found by its end, and few are there",
    "projection_set_aside_pkey": "an event is set aside once by a projection",
    "projections_pkey": "a projection reads one of its tables",
    "provider_callbacks_event": "what a provider tells is taken once",
    "provider_callbacks_pkey": "a callback has one row",
    "queues_pkey": "a queue has one row",
    "restore_guard_pkey": "one row",
    "restored_deliveries_pkey": "a delivery is marked once",
    "schema_migrations_pkey": "a migration is applied once",
}

# Its table is empty as long as nothing went wrong, and then holds few rows.
FEW = {"projection_set_aside_stream"}

# Of signing in and tokens: a test of theirs asks for each, on filled tables.
ELSEWHERE = access.INDEXES


def test_every_index_has_its_user(stage: Stage) -> None:
    """Who adds one adds the scene that needs it, or what it refuses."""
    rows = stage.connection.execute(INDEXES).fetchall()
    there = {index.removeprefix("counterfoil."): refuses for index, refuses in rows}

    named = set[str]().union(*SCENES.values())
    looked_into = {index for index in named if not index.startswith("read_")}
    assert set(there) == looked_into | set(REFUSING) | FEW | ELSEWHERE
    assert all(there[index] for index in REFUSING)
    assert not looked_into & set(REFUSING)
