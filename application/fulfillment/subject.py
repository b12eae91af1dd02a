"""The operation at hand and its entitlement, as read before an attempt."""

from dataclasses import dataclass

from application.fulfillment.pushed import Pushed
from application.ports import Access, Streams
from domain.entitlement.state import Entitlement
from domain.event import Instant
from domain.fulfillment import operations
from domain.fulfillment.aggregate import FulfillmentOperation
from domain.stream import Ref, StreamKind


@dataclass(frozen=True, slots=True)
class Subject:
    """What an attempt is about; identity and names never change after birth.

    What was observed last changes under this entitlement's serial key only, so
    whoever holds the job reads it as it is.
    """

    ref: Ref
    operation: FulfillmentOperation
    due_at: Instant
    entitlement_ref: Ref
    entitlement: Entitlement

    @property
    def order(self) -> Ref | None:
        """The order that the operation's success fulfils, if it has one."""
        order = self.operation.order
        return None if order is None else Ref(StreamKind.ORDER, order)

    @property
    def panel_user_id(self) -> int | None:
        """The panel user that an earlier operation has found or made."""
        observed = self.entitlement.observed
        return None if observed is None else observed.panel_user_id

    def calls(self) -> tuple[str, ...]:
        """Name what the attempt is going to ask of the panel."""
        is_known = self.panel_user_id is not None
        found = () if is_known else ("find",)
        made = ("update",) if is_known else ("create_or_update",)
        match self.operation.operation:
            case operations.CREATE:
                desired = self.operation.desired
                reset = desired is not None and desired.reset_traffic
                return (*found, *made, *(("reset_traffic",) if reset else ()))
            case operations.RECONCILE:
                return ("find", *made)
            case operations.EXTEND | operations.SET_LIMITS | operations.SET_SQUADS:
                return (*found, "update")
            case operations.RESUME:
                return (*found, "update", "enable")
            case operations.PAUSE:
                return ("find", "disable")
            case name:
                return ("find", name)

    def access(self, pushed: Pushed) -> Access:
        """Return what the panel is asked to show."""
        return Access(
            username=self.entitlement.username,
            legacy_username=self.entitlement.legacy_username,
            panel_user_id=self.panel_user_id,
            desired=pushed.desired,
            at=pushed.at,
            is_off=pushed.standing.is_off,
        )


def read_subject(streams: Streams, ref: Ref) -> Subject | None:
    """Return the operation with its entitlement, or None when there is none."""
    operation = _state(streams, ref, FulfillmentOperation)
    if operation is None or operation.entitlement is None:
        return None
    owner = Ref(StreamKind.ENTITLEMENT, operation.entitlement)
    entitlement = _state(streams, owner, Entitlement)
    if entitlement is None or operation.effective_at is None:
        return None
    return Subject(
        ref=ref,
        operation=operation,
        due_at=operation.effective_at,
        entitlement_ref=owner,
        entitlement=entitlement,
    )


def _state[S](streams: Streams, ref: Ref, kind: type[S]) -> S | None:
    head = streams.head(ref)
    return head.state if head is not None and isinstance(head.state, kind) else None
