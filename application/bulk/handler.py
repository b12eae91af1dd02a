"""Handle a bulk operation's job: choose and preview its items, or carry them out.

Each item is one commit, so whoever dies in between leaves no item half done, and the
next claim goes on with the first item that was not begun.  A claim is a slice: it ends
long before its deadline, and the job goes on at once in another.
"""

from dataclasses import dataclass
from uuid import UUID

import msgspec

from application.bulk.port import BEGUN, LEASE_LOST, Claim, ItemStoppedError
from application.bulk.previewing import preview
from application.bulk.progress import BulkHead
from application.bulk.running import carry_out
from application.bulk.slice import SLICE_SECONDS, BulkParts, Slice, bulk_of
from application.context import Context
from domain.bulk.aggregate import Stage
from domain.errors import IllegalTransitionError
from domain.jobs.outcome import Cancel, Fail, Outcome
from domain.stream import Ref, StreamKind


class BulkArgs(msgspec.Struct, frozen=True):
    """What a job of kind `bulk_operation` is about."""

    bulk_id: UUID


@dataclass(frozen=True, slots=True)
class CarryOutBulk:
    """Handles jobs of kind `bulk_operation`."""

    parts: BulkParts

    def __call__(self, args: BulkArgs, ctx: Context) -> Outcome:
        """Return how one slice of the work ended."""
        ref = Ref(StreamKind.BULK, args.bulk_id)
        head = self.parts.streams.head(ref)
        if not isinstance(head, BulkHead) or head.tenant_id != ctx.tenant_id:
            return Cancel(code="bulk_missing")
        bulk = bulk_of(head)
        if bulk.job != ctx.job_id:
            return Fail(code="not_its_job")  # anybody may enqueue a job
        verb = self.parts.verbs.get(bulk.action)
        if verb is None:
            return Fail(code="unknown_action")
        work = Slice(
            parts=self.parts,
            ctx=ctx,
            claim=Claim(bulk=ref, job=Ref(StreamKind.JOB, ctx.job_id), token=ctx.token),
            verb=verb,
            head=head,
            ends_at=self.parts.clock() + SLICE_SECONDS,
        )
        try:
            return _worked(work)
        except ItemStoppedError as stopped:
            if stopped.why in {LEASE_LOST, BEGUN}:
                # The settler refuses a lost lease as well, by the token.
                return work.again(stopped.why.code)
        except IllegalTransitionError:
            pass
        return work.again("moved")


def _worked(work: Slice) -> Outcome:
    match work.bulk.stage:
        case Stage.PREVIEWING:
            return preview(work)
        case Stage.RUNNING:
            return carry_out(work)
        case _:
            return work.nothing_to_do()
