"""A refused operation, by the names that callers of the earlier product know."""

from application.errors import StateConflictError


class OperationRejectedError(StateConflictError):
    """The entitlement's state forbids the operation."""

    code = "fulfillment_operation_rejected"

    def __init__(self, refused: StateConflictError) -> None:
        """Take why it was refused, and what can be done instead."""
        super().__init__(refused.what, refused.key, refused.state, refused.remedy)


class NotPausableError(OperationRejectedError):
    """The access does not rest, or rests already."""

    code = "not_pausable"
