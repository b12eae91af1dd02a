"""Take what a shop or a program asks for: in its own tenant, with its permission.

The rules of a request are those of the front door, and no others.  What is born names
who asked for it, and the request; so there is no second record of what was accepted.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from application.admission import PRODUCT_NAMES
from application.errors import ForbiddenError
from application.front_door import Enqueued, RefundAsked, Settled
from application.intake.port import Asking, FrontDoor
from application.operators.instruction import Instruction, as_given
from application.operators.refusals import Refusals, about_nothing
from domain.access.permissions import Permission
from domain.errors import InvalidRequestError
from domain.event import JsonObject
from domain.members import INVALID
from domain.operators.events import ActionRefused

_TENANT: Final = "tenant"
_KIND: Final = "kind"
_ORDER: Final = "orderId"


@dataclass(frozen=True, slots=True)
class Intake:
    """Settles, refunds and enqueues for whoever may."""

    door: FrontDoor
    refusals: Refusals

    def settle_order(self, request: JsonObject, instruction: Instruction) -> Settled:
        """Return the settled order, now or before.

        Raises:
            ForbiddenError: whoever asks may not; it is on record.
            CounterfoilError: see `FrontDoor`.
        """
        self._admit("order.settled", Permission.ORDERS_WRITE, request, instruction)
        return self._asked(self.door.settle_order, request, instruction)

    def refund_order(
        self, order_id: str, request: JsonObject, instruction: Instruction
    ) -> RefundAsked:
        """Return the refund of a shop's order that is asked for, now or before.

        Raises:
            ForbiddenError: whoever asks may not; it is on record.
            CounterfoilError: see `FrontDoor`.
        """
        if request.get(_ORDER, order_id) != order_id:
            raise InvalidRequestError(INVALID, _ORDER, "that of the path, or left out")
        whole = {**request, _ORDER: order_id}
        self._admit("order.refunded", Permission.ORDERS_WRITE, whole, instruction)
        return self._asked(self.door.refund_order, whole, instruction)

    def enqueue(self, request: JsonObject, instruction: Instruction) -> Enqueued:
        """Return the job that is asked for, or the unfinished one with its unique key.

        Raises:
            ForbiddenError: whoever asks may not; it is on record.
            QuotaExceededError: as many jobs are pending as may be.
            CounterfoilError: see `FrontDoor`.
        """
        self._admit("job.enqueued", Permission.JOBS_WRITE, request, instruction)
        kind = request.get(_KIND)
        if isinstance(kind, str) and kind in PRODUCT_NAMES:
            rule = "no kind of the product: those follow from orders and operations"
            raise InvalidRequestError(INVALID, _KIND, rule)
        return self._asked(self.door.enqueue, request, instruction)

    def _admit(
        self,
        action: str,
        permission: Permission,
        request: JsonObject,
        instruction: Instruction,
    ) -> None:
        try:
            instruction.require(permission)
        except ForbiddenError as error:
            key = request.get(_ORDER) or request.get(_KIND)
            target = as_given(key if isinstance(key, str) else "")
            refused = ActionRefused(action=action, target=target, code=error.code)
            about = about_nothing(target, instruction)
            self.refusals.record(refused, instruction, about)
            raise

    def _asked[Answer](
        self,
        ask: Callable[[JsonObject, Asking], Answer],
        request: JsonObject,
        instruction: Instruction,
    ) -> Answer:
        """Ask for it in the tenant of whoever asks.

        Raises:
            InvalidRequestError: another tenant is named.
        """
        tenant = instruction.tenant_id
        if tenant is not None and request.get(_TENANT, tenant) != tenant:
            raise InvalidRequestError(INVALID, _TENANT, "your own, or left out")
        whole = request if tenant is None else {**request, _TENANT: tenant}
        # What ties the events together is the request's own, or made for it.
        meta = instruction.meta("")
        return ask(whole, Asking(meta=meta, once=instruction.once))
