"""Ask for an operation on an entitlement: once per key, with a reason, on record.

The desired state, the operation and its job are one transaction, so a later
reconciliation keeps to what was asked for.  The same key with the same explicit
parameters answers the operation that is there; a reconciliation's key is the quarter
of an hour, for everybody.
"""

from dataclasses import dataclass
from datetime import UTC
from typing import Final
from uuid import UUID

import msgspec
from msgspec import UNSET

from application.errors import (
    ApplicationError,
    IdempotencyInProgressError,
    NotFoundError,
    OperationKeyReusedError,
    StateConflictError,
)
from application.once.commit import commit_once, making
from application.operators.entitlement.asked import ENTITLEMENT, Asked, refusal
from application.operators.entitlements import Found, find_entitlement
from application.operators.instruction import Instruction, as_given
from application.operators.refusals import About, Refusals, about_nothing
from application.operators.taken import Deed, on_record
from application.policies import key_of
from application.ports import Streams
from application.unit import (
    Group,
    Head,
    Ids,
    Locked,
    Once,
    Refused,
    UnitOfWork,
    Written,
)
from domain.access.permissions import Permission
from domain.entitlement.commands import Given
from domain.entitlement.state import Desired
from domain.errors import DomainError, InvalidRequestError
from domain.event import Instant, JsonObject, Meta
from domain.fulfillment.aggregate import FulfillmentOperation
from domain.fulfillment.operations import BY_OPERATORS, RECONCILE
from domain.fulfillment.parse import read_operation, read_parameters
from domain.members import read_text
from domain.operators.actions import OPERATION_REQUESTED
from domain.operators.events import ActionRefused
from domain.stream import Change, Ref, State, StreamKind

_ROUNDS: Final = 3
_BUCKET_MINUTES: Final = 15
_KEY_CHARACTERS: Final = 128
_OPERATION: Final = "operation"


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """One operation that a person wants, as it was said."""

    entitlement: str
    """Its id, or `customer:<id>[:<slot>]`."""
    operation: str
    parameters: JsonObject
    key: str | None = None
    """Of the request; None: one of its own, so that nothing is a repetition."""
    tenant_id: str = "default"


class Operated(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """An operation that was asked for, now or before."""

    operation_id: UUID
    job_id: UUID | None
    """None: it was asked for before, and its job has succeeded."""
    entitlement_id: UUID
    operation: str
    state: str
    desired_version: int
    replayed: bool
    """True when the key was used before: this is the stored answer."""
    position: int
    """A reader at this position of the log sees the operation and its job."""


@dataclass(frozen=True, slots=True)
class Operate:
    """Asks for operations on behalf of people."""

    streams: Streams
    units: UnitOfWork
    ids: Ids

    def __call__(self, wanted: Wanted, instruction: Instruction) -> Operated:
        """Return the operation that was asked for.

        Raises:
            ForbiddenError: whoever asks may not.
            InvalidRequestError: the operation or a parameter is wrong.
            NotFoundError: nobody of theirs has such an entitlement.
            StateConflictError: the entitlement's state forbids it.
            OperationKeyReusedError: the key was used with other parameters.
            AnsweredBeforeError: see `commit_once`, and the others.
            DatabaseUnavailableError: nothing is known to be done.
        """
        try:
            return self._operated(wanted, instruction)
        except IdempotencyInProgressError:
            raise  # nothing is refused: the same request is about to be answered
        except (ApplicationError, DomainError) as error:
            refused = ActionRefused(
                action=_action(wanted.operation),
                target=as_given(wanted.entitlement),
                code=error.code,
            )
            about = self._about(wanted, instruction)
            self._refusals().record(refused, instruction, about)
            raise

    def _operated(self, wanted: Wanted, instruction: Instruction) -> Operated:
        instruction.require(Permission.OPERATIONS_WRITE)
        operation = read_operation(wanted.operation)
        given = read_parameters(operation, wanted.parameters)
        found = self._found(wanted, instruction)
        key, correlation_id = self._key(wanted, operation, found)
        meta = instruction.meta(correlation_id)
        for _ in range(_ROUNDS):
            before = self.streams.operation_with_key(found.head.tenant_id, key)
            if before is not None:
                told = self._replayed(found, given, *before)
                if wanted.key is not None:
                    return told  # the very same request
                return self._recorded(told, found, meta, instruction.once)
            born = (self.ids(), self.ids())
            ref = Ref(StreamKind.OPERATION, born[0])
            asked = Asked(
                entitlement=found.ref,
                operation=operation,
                given=given,
                key=key,
                ids=born,
                refs=(found.ref, ref, Ref(StreamKind.JOB, born[1])),
            )
            once = making(instruction.once, _OPERATION, ref.id)
            group = Group(asked.refs, asked, meta, once=once)
            recorded = on_record(group, _deed(found, ref), self.ids())
            result = commit_once(self.units, recorded)
            if isinstance(result, Written):
                return _told(found, result)
            if isinstance(result, Refused) and result.code != "conflict":
                raise refusal(operation, found, result)
        raise StateConflictError(
            ENTITLEMENT, wanted.entitlement, "changing", "ask again"
        )

    def _recorded(
        self, told: Operated, found: Found, meta: Meta, once: Once | None
    ) -> Operated:
        """Put on record that somebody asks for what somebody has asked for before."""
        ref = Ref(StreamKind.OPERATION, told.operation_id)
        deed = _deed(found, ref)
        group = Group(
            deed.refs, _nothing, meta, once=making(once, _OPERATION, told.operation_id)
        )
        said = commit_once(self.units, on_record(group, deed, self.ids()))
        if not isinstance(said, Written):
            msg = "the record of a reconciliation was refused"
            raise TypeError(msg)
        return msgspec.structs.replace(told, position=said.position)

    def _found(self, wanted: Wanted, instruction: Instruction) -> Found:
        """Return what of theirs is meant.

        Raises:
            NotFoundError: nobody of theirs has that.
            InvalidRequestError: it could be meant in two ways, and both are there.
        """
        tenant_id = instruction.tenant_id or wanted.tenant_id
        found = find_entitlement(self.streams, tenant_id, wanted.entitlement)
        if not instruction.sees(found.head.tenant_id):
            raise NotFoundError(ENTITLEMENT, wanted.entitlement)
        return found

    def _key(self, wanted: Wanted, operation: str, found: Found) -> tuple[str, str]:
        """Return the key under which it is stored, and what ties its events together.

        Raises:
            InvalidRequestError: the person's key is wrong, or was not to be given.
        """
        if operation == RECONCILE:
            if wanted.key is not None:
                rule = "a reconciliation has none: it is one per quarter of an hour"
                code = "unknown_member"
                raise InvalidRequestError(code, "key", rule)
            bucket = _bucket(self.streams.clock())
            return f"reconcile:{found.ref.id}:{bucket}", f"reconcile:{bucket}"
        request = str(self.ids()) if wanted.key is None else wanted.key
        read_text(request, "key", _KEY_CHARACTERS)
        return f"panel:{found.ref.id}:{operation}:{request}", f"panel:{request}"

    def _replayed(self, found: Found, given: Given, ref: Ref, head: Head) -> Operated:
        state = _operation(head.state)
        if state.desired is None or not _matches(given, state.desired):
            raise OperationKeyReusedError(str(ref.id))
        tenant, key = found.head.tenant_id, key_of(ref.id)
        job = self.streams.live_job_with_key(
            tenant, key
        ) or self.streams.dead_job_with_key(tenant, key)
        return Operated(
            operation_id=ref.id,
            job_id=None if job is None else job.id,
            entitlement_id=found.ref.id,
            operation=state.operation,
            state=state.stage,
            desired_version=state.desired_version,
            replayed=True,
            position=self.streams.last_position(
                [ref.id] if job is None else [ref.id, job.id]
            ),
        )

    def _refusals(self) -> Refusals:
        return Refusals(self.units, self.ids)

    def _about(self, wanted: Wanted, instruction: Instruction) -> About:
        try:
            found = self._found(wanted, instruction)
        except (NotFoundError, InvalidRequestError):
            return about_nothing(wanted.entitlement, instruction)
        nobody = about_nothing(str(found.ref.id))
        return About(found.head.tenant_id, nobody.correlation_id)


def _action(wanted: str) -> str:
    """Return what a refusal is called; words of others are nothing to count by."""
    return wanted if wanted in BY_OPERATORS else OPERATION_REQUESTED


def _nothing(_locked: Locked, _now: Instant) -> tuple[Change, ...]:
    return ()


def _deed(found: Found, operation: Ref) -> Deed:
    return Deed(
        action=OPERATION_REQUESTED,
        target_kind=ENTITLEMENT,
        target=str(found.ref.id),
        refs=(found.ref, operation),
    )


def _bucket(now: Instant) -> str:
    """Return the beginning of the present quarter of an hour, RFC 3339 in UTC."""
    minute = now.minute // _BUCKET_MINUTES * _BUCKET_MINUTES
    begun = now.astimezone(UTC).replace(minute=minute, second=0, microsecond=0)
    return begun.strftime("%Y-%m-%dT%H:%M:%SZ")


def _matches(given: Given, desired: Desired) -> bool:
    """Whether everything that is named now was asked for then."""
    then = msgspec.structs.asdict(desired)
    return all(
        value == then[name]
        for name, value in msgspec.structs.asdict(given).items()
        if value is not UNSET
    )


def _told(found: Found, written: Written) -> Operated:
    born = {change.ref.kind: change for change in written.changes}
    operation = _operation(born[StreamKind.OPERATION].state)
    return Operated(
        operation_id=born[StreamKind.OPERATION].ref.id,
        job_id=born[StreamKind.JOB].ref.id,
        entitlement_id=found.ref.id,
        operation=operation.operation,
        state=operation.stage,
        desired_version=operation.desired_version,
        replayed=False,
        position=written.position,
    )


def _operation(state: State) -> FulfillmentOperation:
    if not isinstance(state, FulfillmentOperation):
        msg = "an operation has the head of something else"
        raise TypeError(msg)
    return state
