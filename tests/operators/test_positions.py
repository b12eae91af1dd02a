"""Whoever asks for what is so already is told where in the log that can be read."""

from uuid import UUID

import pytest

from application.operators.instruction import instruct
from application.operators.maintenance import Maintained, Maintenance, Planned
from application.operators.operate import Operate, Operated, Wanted
from infrastructure.ids import new_id
from infrastructure.postgres.windows import PostgresWindows
from tests.operators.world import World, bring

pytestmark = pytest.mark.database

WHO = instruct("ann", "the customer asked")
PLANNED = Planned(notice_ru="Скоро вернёмся", notice_en="Back soon")


@pytest.fixture
def maintenance(world: World) -> Maintenance:
    return Maintenance(PostgresWindows(world.database), world.units, new_id)


def read_at(world: World, position: int) -> list[str]:
    """Return what a reader at the position has seen of windows, in order."""
    rows = world.connection.execute(
        """
        SELECT type FROM counterfoil.events
         WHERE type LIKE 'maintenance.%%' AND position <= %s ORDER BY position
        """,
        (position,),
    )
    return [str(tag) for (tag,) in rows.fetchall()]


def ask(world: World) -> Operated:
    operate = Operate(world.streams, world.units, new_id)
    wanted = Wanted(
        entitlement="customer:ann", operation="pause", parameters={}, key="r1"
    )
    return operate(wanted, WHO)


def births(world: World, operation: UUID) -> list[int]:
    """Return the positions of the transaction that bore the operation."""
    rows = world.connection.execute(
        """
        SELECT e.position
          FROM counterfoil.events b
          JOIN counterfoil.events e
            ON e.meta->>'commit_id' = b.meta->>'commit_id'
         WHERE b.stream_id = %s AND b.version = 1
         ORDER BY e.position
        """,
        (operation,),
    )
    return [int(position) for (position,) in rows]


def test_a_reader_at_a_replay_sees_all_that_the_first_answer_told(
    world: World,
) -> None:
    world.operation("ann")
    first = ask(world)

    again = ask(world)

    assert again.replayed
    *told, record = births(world, first.operation_id)
    assert (again.position, first.position) == (max(told), record)


def test_a_replay_is_never_before_the_first_answer_whatever_came_after(
    world: World,
) -> None:
    world.operation("ann")
    first = ask(world)
    assert first.job_id is not None
    world.cancel(first.operation_id)

    again = ask(world)

    assert again.state == "cancelled"
    assert again.position > first.position


def test_cancelling_twice_tells_where_both_can_be_read(world: World) -> None:
    job, _ = bring(world, "due", "report")
    first = world.cancel(job)
    world.report()

    again = world.cancel(job)

    assert again.events == ()
    assert again.position > first.position
    assert [record[9] for record in world.taken()] == [first.position, again.position]


def test_opening_or_closing_once_more_tells_where_that_is(
    world: World, maintenance: Maintenance
) -> None:
    def seen(*answers: Maintained) -> list[list[str]]:
        return [read_at(world, each.position) for each in answers]

    never = maintenance.close("panel", WHO)
    opened = maintenance.open(PLANNED, WHO)
    open_already = maintenance.open(PLANNED, WHO)
    closed = maintenance.close("panel", WHO)
    closed_already = maintenance.close("panel", WHO)

    is_open, is_closed = ["maintenance.opened"], ["maintenance.closed"]
    assert seen(never) == [[]]
    assert seen(opened, open_already) == [is_open, is_open]
    assert seen(closed, closed_already) == [is_open + is_closed] * 2
