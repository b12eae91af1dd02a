"""Looks at what events hold: on record before anything of it is told."""

from dataclasses import dataclass
from typing import Final
from uuid import UUID

import msgspec

from application.operators.instruction import Instruction
from application.operators.refusals import About, Refusals
from application.unit import Group, Ids, UnitOfWork, Written
from domain.access.permissions import Permission
from domain.errors import CounterfoilError
from domain.operators.events import ActionRefused, PayloadViewed
from domain.operators.remarks import remarked
from domain.stream import Ref, StreamKind

VIEW_PAYLOAD: Final = "view_payload"


class Held(msgspec.Struct, frozen=True, kw_only=True):
    """The event that somebody wants to see whole."""

    position: int
    tenant_id: str
    stream_id: UUID
    type: str
    correlation_id: str


@dataclass(frozen=True, slots=True)
class ViewPayload:
    """Puts on record that somebody is about to see what an event holds."""

    units: UnitOfWork
    ids: Ids

    def __call__(self, held: Held, instruction: Instruction) -> None:
        """Return when it is on record, and may be told.

        Raises:
            ForbiddenError: they may not; that is on record as well.
            DatabaseUnavailableError: it is not known to be recorded.
        """
        try:
            instruction.require(Permission.EVENTS_UNMASK)
        except CounterfoilError as error:
            refused = ActionRefused(
                action=VIEW_PAYLOAD, target=f"event:{held.position}", code=error.code
            )
            about = About(held.tenant_id, held.correlation_id)
            Refusals(self.units, self.ids).record(refused, instruction, about)
            raise
        self._record(held, instruction)

    def _record(self, held: Held, instruction: Instruction) -> None:
        event = PayloadViewed(
            position=held.position, stream=held.stream_id, type=held.type
        )
        ref = Ref(StreamKind.REMARK, self.ids())
        change = remarked(ref, held.tenant_id, event)
        group = Group(
            refs=(ref,),
            decide=lambda _locked, _now: (change,),
            meta=instruction.meta(held.correlation_id),
        )
        (result,) = self.units.commit([group])
        if not isinstance(result, Written):
            msg = f"the look at event {held.position} was not recorded"
            raise TypeError(msg)
