"""Choose what a bulk operation is about, and look at each item.

 not frozen   choose at one moment ─► items, page by page ─► Freeze
 frozen       look at items, page by page ─► … ─► Preview

Who is interrupted while he chooses begins anew: until `bulk.frozen` is written, nobody
has seen what was chosen.  Looking goes on with the first item that was not looked at.
"""

from typing import Final

from application.bulk.slice import Slice
from application.bulk.verbs import OVER_QUOTA, WOULD
from domain.bulk.aggregate import BulkOperation, Stage
from domain.bulk.commands import Freeze, Preview
from domain.jobs.outcome import Completed, Outcome

PAGE: Final = 200


def preview(work: Slice) -> Outcome:
    """Return how far it got.

    Raises:
        ItemStoppedError: the claim is lost.
    """
    bulk = work.bulk
    if not bulk.is_frozen:
        bulk = _frozen(work)
        if bulk.stage is not Stage.PREVIEWING:
            return Completed(result={"ended": bulk.stage.value})
    first = work.head.n_previewed + 1
    while first <= bulk.items:
        if work.is_over:
            return work.again("slice")
        first += _looked_at(work, first)
        work.ctx.progress({"previewed": first - 1, "items": bulk.items})
    verdicts = work.parts.items.verdicts(work.claim.bulk.id)
    told = work.tell(lambda _: Preview(verdicts))
    return Completed(result={"state": told.stage.value, "items": told.items})


def _frozen(work: Slice) -> BulkOperation:
    claim, items, tenant = work.claim, work.parts.items, work.head.tenant_id
    most = work.bulk.most_items
    items.clear(claim)
    n = 0
    with work.parts.chooser.choose(tenant, work.bulk.filter or "") as chosen:
        for page in chosen.pages():
            if n + len(page) <= most:
                items.add(claim, tenant, n + 1, page)
            n += len(page)
            if n > most:
                break
        position = chosen.position
    return work.tell(lambda _: Freeze(items=n, position=position))


def _looked_at(work: Slice, first: int) -> int:
    """Return how many items were looked at."""
    items, verb = work.parts.items, work.verb
    room = items.room(work.head.tenant_id) if verb.needs_room else None
    would = _would(work) if room is not None else 0
    now = work.parts.streams.clock()
    verdicts: list[str] = []
    page = items.page(work.claim.bulk.id, first, PAGE)
    seen = items.glance([item.target for item in page])
    for item in page:
        verdict = verb.look(seen, str(item.target), work.instruction(item.n), now)
        if room is not None and verdict.startswith(WOULD):
            would += 1
            verdict = verdict if would <= room else OVER_QUOTA
        verdicts.append(verdict)
    items.judge(work.claim, first, verdicts)
    return len(verdicts)


def _would(work: Slice) -> int:
    """Return how many items before would take room."""
    verdicts = work.parts.items.verdicts(work.claim.bulk.id)
    return sum(n for verdict, n in verdicts.items() if verdict.startswith(WOULD))
