"""Ask a provider what became of a purchase: by a job, which never buys.

submitted (unknown or accepted), in review ──► a job `goods_reconcile`, one at a time
being asked right now, never asked, over   ──► refused
its provider cannot be asked               ──► refused: a person finds out elsewhere
"""

from dataclasses import dataclass
from functools import partial
from typing import Final
from uuid import UUID

import msgspec

from application import births
from application.errors import (
    ApplicationError,
    CannotBeAskedError,
    StateConflictError,
)
from application.goods.port import Providers, Unconfigured
from application.once.commit import commit_once, making
from application.operators.deliveries.found import (
    DELIVERY,
    Found,
    about_delivery,
    find_delivery,
)
from application.operators.instruction import Instruction, as_given
from application.operators.refusals import Refusals
from application.operators.taken import Deed, on_record
from application.policies import GOODS_RECONCILE, goods_key_of, reconcile
from application.ports import Streams
from application.unit import (
    Decide,
    Group,
    Ids,
    Locked,
    Refused,
    Result,
    UnitOfWork,
    Written,
)
from domain.access.permissions import Permission
from domain.event import Instant
from domain.goods.state import GoodsDelivery, Stage, Standing
from domain.operators.actions import DELIVERY_RECONCILED
from domain.operators.events import ActionRefused
from domain.stream import Change, Ref, StreamKind

ACTION: Final = "reconcile_delivery"

LOOKUP_UNSUPPORTED: Final = "lookup_unsupported"

_ROUNDS: Final = 3
_OPEN: Final = frozenset({Stage.SUBMITTED, Stage.NEEDS_REVIEW})
_STAGE: Final = "stage_"
_NEVER: Final = "never asked"
_ASKING: Final = "being asked"


class Asked(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The job that asks a provider."""

    delivery_id: UUID
    job_id: UUID
    replayed: bool
    """True when it was asked for before, and is not over yet."""
    position: int
    """A reader at this position of the log sees the job."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReconcileDelivery:
    """Asks for reconciliations on behalf of people."""

    streams: Streams
    units: UnitOfWork
    ids: Ids
    providers: Providers

    def __call__(self, key: str, instruction: Instruction) -> Asked:
        """Return the job that asks what became of the delivery's purchase.

        Raises:
            ForbiddenError: whoever asks may not.
            NotFoundError: there is no such delivery of theirs.
            StateConflictError: there is nothing to ask about.
            CannotBeAskedError: nobody can ask the provider.
            DatabaseUnavailableError: nothing is known to be done.
        """
        try:
            return self._asked(key, instruction)
        except ApplicationError as error:
            target = as_given(key)
            refused = ActionRefused(action=ACTION, target=target, code=error.code)
            about = about_delivery(self.streams, key, instruction)
            Refusals(self.units, self.ids).record(refused, instruction, about)
            raise

    def _asked(self, key: str, instruction: Instruction) -> Asked:
        instruction.require(Permission.DELIVERIES_WRITE)
        for _ in range(_ROUNDS):
            found = find_delivery(self.streams, key, instruction)
            forbidden = _forbidden(found.state)
            if forbidden is not None:
                raise StateConflictError(DELIVERY, key, forbidden, _remedy(forbidden))
            self._require_answers(found)
            live = self.streams.live_job_with_key(
                found.head.tenant_id, goods_key_of(GOODS_RECONCILE, found.ref.id)
            )
            if live is not None:
                said = self._committed(found, live, instruction, _nothing)
                if isinstance(said, Written):
                    return _told(found, live, said, replayed=True)
                continue
            job = Ref(StreamKind.JOB, self.ids())
            born = partial(_born, found.ref, job)
            result = self._committed(found, job, instruction, born)
            if isinstance(result, Written):
                return _told(found, job, result, replayed=False)
        raise StateConflictError(DELIVERY, key, "changing", "ask again")

    def _committed(
        self, found: Found, job: Ref, instruction: Instruction, decide: Decide
    ) -> Result:
        """Commit what is asked for under the key of whoever asks, and its record."""
        group = Group(
            refs=(found.ref, job),
            decide=decide,
            meta=instruction.meta(found.head.correlation_id),
            once=making(instruction.once, "job", job.id),
        )
        return commit_once(self.units, on_record(group, _deed(found, job), self.ids()))

    def _require_answers(self, found: Found) -> None:
        """Refuse what nobody can answer.

        Raises:
            CannotBeAskedError: the provider cannot be asked, and why.
        """
        slug = found.state.provider
        provider = self.providers.find(found.head.tenant_id, slug)
        if isinstance(provider, Unconfigured):
            raise CannotBeAskedError(slug, provider.code, provider.detail)
        if not provider.capabilities.can_look_up:
            detail = "it does not answer what became of a purchase"
            raise CannotBeAskedError(slug, LOOKUP_UNSUPPORTED, detail)


def _deed(found: Found, job: Ref) -> Deed:
    return Deed(
        action=DELIVERY_RECONCILED,
        target_kind=DELIVERY,
        target=str(found.ref.id),
        refs=(found.ref, job),
    )


def _told(found: Found, job: Ref, written: Written, *, replayed: bool) -> Asked:
    return Asked(
        delivery_id=found.ref.id,
        job_id=job.id,
        replayed=replayed,
        position=written.position,
    )


def _nothing(_locked: Locked, _now: Instant) -> tuple[Change, ...]:
    """Change nothing: a job asks already."""
    return ()


def _born(
    ref: Ref, job: Ref, locked: Locked, now: Instant
) -> tuple[Change, ...] | Refused:
    """Return the birth of the job, if there is still something to ask about."""
    head = locked.get(ref)
    state = None if head is None else head.state
    if head is None or not isinstance(state, GoodsDelivery) or state.order is None:
        return Refused("gone")
    if _forbidden(state) is not None:
        return Refused(_STAGE + state.stage)
    wanted = reconcile(ref.id, state.order, now)
    return (births.enqueued(lambda: job.id, head.tenant_id, wanted),)


def _forbidden(state: GoodsDelivery) -> str | None:
    """Return what stands against asking, or None."""
    if state.stage not in _OPEN:
        return state.stage
    if state.decision == 0:
        return _NEVER
    return _ASKING if state.standing is Standing.ASKED else None


def _remedy(stage: str) -> str:
    match stage:
        case "pending" | "failed" | "never asked":
            return "nothing was submitted that its provider could tell of"
        case "being asked":
            return "its sender waits for the answer; `counterfoil why` says until when"
        case _:
            return "that is final"
