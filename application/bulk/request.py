"""Ask for an action on many things: the operation is born, with its preview's job.

 named things   are its items at once
 a filter       is resolved by the job, at one moment

Who asks decides how many there may be: an operator a hundred, anybody else who may
ask a thousand, or a hundred thousand when another person approves of it.
"""

from dataclasses import dataclass
from functools import partial
from typing import Final
from uuid import UUID

import msgspec

from application import births
from application.bulk.port import Chooser, Items
from application.bulk.verbs import Verbs
from application.errors import ApplicationError
from application.once.commit import making, refuse_key
from application.operators.instruction import Instruction, as_given
from application.operators.refusals import (
    DEFAULT_TENANT,
    Refusals,
    about_nothing,
)
from application.operators.taken import Deed, on_record
from application.policies import bulk as bulk_job
from application.unit import Group, Ids, KeyRefused, Locked, UnitOfWork, Written
from domain.access.permissions import Permission
from domain.access.roles import Role
from domain.bulk.aggregate import BULK_LIMIT, BulkOperation, decide, fold
from domain.bulk.commands import Freeze, Request
from domain.errors import DomainError
from domain.event import Instant, JsonObject
from domain.members import refuse
from domain.operators.actions import BULK_REQUESTED
from domain.operators.events import ActionRefused
from domain.stream import Change, Ref, StreamKind

MOST_ITEMS: Final = 100_000
MOST_UNAPPROVED: Final = 1_000
MOST_OF_OPERATORS: Final = 100

DEFAULT_RATE: Final = 20.0
SLOWEST: Final = 0.01
FASTEST: Final = 1_000.0

KIND: Final = "bulk"
"""Of what an Idempotency-Key has made."""

EMPTY_FILTER: Final = "empty_filter"
_ACTION: Final = "request_bulk"


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """What somebody wants done, to what; ids or a filter, not both."""

    action: str
    ids: tuple[UUID, ...] | None = None
    filter: str | None = None
    parameters: JsonObject = msgspec.field(default_factory=dict[str, object])
    items_per_second: float = DEFAULT_RATE


class Asked(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A bulk operation that was born."""

    bulk_id: UUID
    version: int
    state: str
    position: int
    """A reader at this position of the log sees it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestBulk:
    """Asks for bulk operations on behalf of people and programs."""

    items: Items
    chooser: Chooser
    verbs: Verbs
    units: UnitOfWork
    ids: Ids
    most_items: int = MOST_ITEMS
    most_unapproved: int = MOST_UNAPPROVED

    def __call__(self, wanted: Wanted, instruction: Instruction) -> Asked:
        """Return the operation that was asked for.

        Raises:
            ForbiddenError: whoever asks may not, in bulk or this action.
            InvalidRequestError: a member is wrong, there are no items or too many.
            DatabaseUnavailableError: nothing is known to be done.
        """
        try:
            return self._asked(wanted, instruction)
        except (ApplicationError, DomainError) as error:
            target = as_given(f"bulk:{wanted.action}")
            refused = ActionRefused(action=_ACTION, target=target, code=error.code)
            about = about_nothing(target, instruction)
            Refusals(self.units, self.ids).record(refused, instruction, about)
            raise

    def _asked(self, wanted: Wanted, instruction: Instruction) -> Asked:
        instruction.require(Permission.BULK_WRITE)
        request = self._request(wanted, instruction)
        targets = tuple(dict.fromkeys(wanted.ids or ()))
        if len(targets) > request.most_items:
            rule = f"at most {request.most_items:,} things, not {len(targets):,}"
            refuse(BULK_LIMIT, "target.ids", rule)
        ref = Ref(StreamKind.BULK, self.ids())
        tenant = instruction.tenant_id or DEFAULT_TENANT
        group = Group(
            refs=(ref, Ref(StreamKind.JOB, request.job)),
            decide=partial(_born, ref, tenant, request, targets),
            meta=instruction.meta(f"bulk:{ref.id}"),
            once=making(instruction.once, KIND, ref.id),
        )
        deed = Deed(
            action=BULK_REQUESTED, target_kind="bulk", target=str(ref.id), refs=(ref,)
        )
        kept = on_record(group, deed, self.ids())
        result = self.items.request(kept, ref.id, tenant, targets)
        if isinstance(result, KeyRefused):
            refuse_key(result)
        if not isinstance(result, Written):
            msg = f"a bulk operation could not be born: {result}"
            raise TypeError(msg)
        state = result.changes[0].state
        return Asked(
            bulk_id=ref.id,
            version=state.version,
            state=state.stage if isinstance(state, BulkOperation) else "",
            position=result.position,
        )

    def _request(self, wanted: Wanted, instruction: Instruction) -> Request:
        verb = self.verbs.get(wanted.action)
        if verb is None:
            known = ", ".join(sorted(self.verbs))
            refuse("invalid_member", "action", f"one of {known}")
        instruction.require(verb.permission)
        if wanted.parameters:
            refuse("unknown_member", "parameters", f"{verb.name} has none")
        if not SLOWEST <= wanted.items_per_second <= FASTEST:
            rule = f"from {SLOWEST} to {FASTEST:g}"
            refuse("invalid_member", "itemsPerSecond", rule)
        if (wanted.ids is None) == (wanted.filter is None):
            refuse("invalid_member", "target", "either ids or a filter")
        if wanted.ids is not None and not wanted.ids:
            rule = "at least one id: an empty target would mean nothing, or everything"
            refuse(EMPTY_FILTER, "target.ids", rule)
        filter_ = wanted.filter
        if filter_ is not None:
            filter_ = self.chooser.check(filter_)
        is_operator = instruction.role is Role.OPERATOR
        most = min(self.most_items, MOST_OF_OPERATORS if is_operator else MOST_ITEMS)
        return Request(
            action=verb.name,
            filter=filter_,
            items_per_second=wanted.items_per_second,
            most_items=most,
            most_unapproved=min(most, self.most_unapproved),
            requested_by=instruction.actor,
            role=None if instruction.role is None else instruction.role.value,
            reason=instruction.reason,
            job=self.ids(),
        )


def _born(
    ref: Ref,
    tenant_id: str,
    request: Request,
    targets: tuple[UUID, ...],
    _locked: Locked,
    now: Instant,
) -> tuple[Change, ...]:
    events = decide(BulkOperation(), request)
    bulk = fold(events)
    if request.filter is None:
        frozen = decide(bulk, Freeze(items=len(targets)))
        events, bulk = (*events, *frozen), fold(frozen, bulk)
    birth = Change(ref=ref, tenant_id=tenant_id, expected=0, events=events, state=bulk)
    job = births.enqueued(lambda: request.job, tenant_id, bulk_job(ref.id, now))
    return (birth, job)
