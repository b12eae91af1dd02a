"""Why the rules of a delivery refuse, where the stage alone does not say it."""

from typing import Never

from domain.errors import IllegalTransitionError
from domain.goods.state import GoodsDelivery


class BarredError(IllegalTransitionError):
    """Whoever asked last is not known to be dead, so this could buy twice."""

    code = "sender_not_gone"


class SecondPersonError(IllegalTransitionError):
    """The same person cannot agree to what he has proposed."""

    code = "second_person_required"


class PurchasesSpentError(IllegalTransitionError):
    """No purchase is left of the budget."""

    code = "purchases_spent"


class NotDueError(IllegalTransitionError):
    """The next purchase is due later."""

    code = "not_due"


def refuse(delivery: GoodsDelivery, command: str) -> Never:
    """Raise that `command` makes no sense at this stage."""
    raise IllegalTransitionError(delivery.stage, command, stream="delivery")
