"""Carry out the items of a bulk operation, one commit each, no faster than asked for.

done or refused    the item's row says so, in the commit that did it
no room            the item waits, for ten minutes at most; then it is refused
paused, cancelled  nothing further is begun
"""

from typing import Final

from application.bulk.port import BEGUN, Item, ItemStoppedError, NoRoomYetError
from application.bulk.slice import Slice
from domain.bulk.commands import Finish
from domain.jobs.outcome import Completed, Outcome

LONGEST_WAIT_SECONDS: Final = 1.0
"""For longer, the job is snoozed instead of holding a slot of its queue."""

NO_ROOM_SECONDS: Final = 10.0
"""When an item that has found no room is tried again."""

PAGE: Final = 100


def carry_out(work: Slice) -> Outcome:
    """Return how far it got.

    Raises:
        ItemStoppedError: the claim is lost, or the operation does not run any more.
    """
    items, tally, count = work.parts.items, work.head.tally, work.bulk.items
    wait = items.wait_seconds(work.claim.bulk.id)
    first = tally.done + tally.refused + 1
    while first <= count:
        page = items.page(work.claim.bulk.id, first, PAGE)
        for item in page:
            if work.is_over:
                return work.again("slice")
            if wait > LONGEST_WAIT_SECONDS:
                return work.again("rate", wait)
            if wait > 0:
                work.parts.sleep(wait)
            try:
                wait = _carried(work, item)
            except NoRoomYetError:
                return work.again("no_room", NO_ROOM_SECONDS)
        first += len(page)
        work.ctx.progress({"begun": first - 1, "items": count})
    told = work.tell(lambda head: Finish(tally=head.tally))
    return Completed(result={"state": told.stage.value, "items": count})


def _carried(work: Slice, item: Item) -> float:
    """Return how long the next one has to wait."""
    unit = work.parts.items.unit(work.claim, item)
    try:
        work.verb.act(unit, str(item.target), work.instruction(item.n))
    except ItemStoppedError as stopped:
        # An answer that was lost: it had been committed.
        if stopped.why != BEGUN:
            raise
        return work.parts.items.wait_seconds(work.claim.bulk.id)
    if not unit.is_written:
        msg = f"item {item.n} was neither carried out nor refused"
        raise AssertionError(msg)
    return unit.wait_seconds
