"""Limits are set by `migrate`, shown by `limits`, and wrong ones are refused."""

import pytest

from infrastructure.errors import ConfigurationError
from infrastructure.settings import Settings
from tests.api.command import Command
from tests.limits.room import TENANT_FULL, enqueue_many, limit
from tests.operators.world import GENERIC, World, bring

pytestmark = pytest.mark.database

BOTH = {
    "COUNTERFOIL_JOB_MAX_PENDING": "50",
    "COUNTERFOIL_JOB_MAX_TENANT_PENDING": "3",
}


def test_limits_shows_how_full_it_is(counterfoil: Command, world: World) -> None:
    bring(world, "running", GENERIC)
    enqueue_many(world.connection, [{"tenant": "acme"}] * 3)
    assert counterfoil("migrate", **BOTH).code == 0

    shown = counterfoil("limits")
    of_one = counterfoil("limits", "--tenant", "acme", "--json").document

    assert shown.code == 0
    assert "4 pending in all, of at most 50; 1 running" in shown.out
    assert "at most 3 for a tenant" in shown.out
    assert shown.out.index("acme") < shown.out.index("default")
    assert (of_one["maxPending"], of_one["maxTenantPending"]) == (50, 3)
    assert (of_one["pending"], of_one["running"]) == (4, 1)
    assert of_one["tenants"] == [{"tenant": "acme", "pending": 3, "running": 0}]


def test_migrate_keeps_what_is_not_set_and_check_sets_nothing(
    counterfoil: Command, world: World
) -> None:
    limit(world.connection, tenant=3, in_all=50)

    counterfoil("migrate", COUNTERFOIL_JOB_MAX_PENDING="0")
    counterfoil("migrate", "--check", COUNTERFOIL_JOB_MAX_PENDING="7")

    shown = counterfoil("limits")
    assert "0 pending in all, without a limit" in shown.out
    assert "at most 3 for a tenant" in shown.out


def test_a_refused_retry_tells_what_to_do(counterfoil: Command, world: World) -> None:
    job, _ = bring(world, "discarded", GENERIC)
    enqueue_many(world.connection, [{}] * 3)
    limit(world.connection, tenant=3)

    refused = counterfoil("retry", job, "--reason", "it is repaired")

    assert refused.code == 1
    assert refused.complaint().startswith(f"{TENANT_FULL}: as many jobs of tenant")
    assert refused.complaint().endswith("retry after 5 s")


@pytest.mark.parametrize("name", sorted(BOTH))
@pytest.mark.parametrize("value", ["-1", "many", "1000001"])
def test_a_wrong_limit_is_refused_with_its_name(name: str, value: str) -> None:
    with pytest.raises(ConfigurationError, match=name):
        Settings.from_env({name: value})


@pytest.mark.parametrize(("name", "other"), [("pending", 1000), ("tenant", 10000)])
def test_limits_that_somebody_has_deleted_are_none_until_they_are_set(
    counterfoil: Command, world: World, name: str, other: int
) -> None:
    world.connection.execute("DELETE FROM counterfoil.limits")
    shown = counterfoil("limits").out
    both = {"pending": "PENDING", "tenant": "TENANT_PENDING"}

    counterfoil("migrate", **{f"COUNTERFOIL_JOB_MAX_{both[name]}": "7"})

    assert "0 pending in all, without a limit" in shown
    page = counterfoil("limits", "--json").document
    limits = {"pending": page["maxPending"], "tenant": page["maxTenantPending"]}
    assert limits.pop(name) == 7
    assert list(limits.values()) == [other]
