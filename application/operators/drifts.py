"""Ask for the reconciliation of what the panel shows differently."""

from dataclasses import dataclass

import msgspec

from application.operators.instruction import Instruction
from application.operators.operate import Operate, Operated, Wanted
from domain.access.permissions import Permission
from domain.fulfillment.operations import RECONCILE


@dataclass(frozen=True, slots=True)
class ReconcileDrift:
    """Asks on behalf of people who may do that alone, and no other operation."""

    operate: Operate

    def __call__(
        self, entitlement: str, tenant_id: str, instruction: Instruction
    ) -> Operated:
        """Return the operation, one per quarter of an hour and entitlement.

        It looks at all of the entitlement, whichever kind of drift is meant.

        Raises:
            CounterfoilError: as `Operate`; whoever may not is refused by it.
        """
        may = Permission.DRIFT_WRITE in instruction.permissions
        lent = frozenset({Permission.OPERATIONS_WRITE} if may else ())
        theirs = instruction.permissions - {Permission.OPERATIONS_WRITE}
        asked = msgspec.structs.replace(instruction, permissions=theirs | lent)
        wanted = Wanted(
            entitlement=entitlement,
            operation=RECONCILE,
            parameters={},
            tenant_id=tenant_id,
        )
        return self.operate(wanted, asked)
