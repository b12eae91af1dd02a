"""What one attempt brings to the panel: the state in force when it began.

Never the operation's own, older desired state: a `create` that comes back from its
backoff must not undo the `set_limits` that an operator asked for meanwhile.  Only
whether traffic is reset is the operation's own business.
"""

import msgspec
from msgspec.structs import replace

from domain.entitlement.drift import KINDS, differences
from domain.entitlement.state import Desired, Drift, Entitlement, Sight
from domain.entitlement.timeline import Standing, in_force, standing
from domain.event import Instant
from domain.fulfillment.aggregate import FulfillmentOperation


class Pushed(msgspec.Struct, frozen=True, kw_only=True):
    """The entitlement as transaction 1 has locked it, at its own instant."""

    desired: Desired
    standing: Standing
    at: Instant

    def differences(self, sight: Sight | None) -> tuple[Drift, ...]:
        """Return how what was seen differs; None: nobody has the user."""
        return differences(self.desired, self.standing, sight, self.at)

    def agreed(self, sight: Sight) -> tuple[str, ...]:
        """Return the kinds of drift that what was seen does not show (any more)."""
        differing = {drift.kind for drift in self.differences(sight)}
        return tuple(kind for kind in KINDS if kind not in differing)


def pushed_by(
    entitlement: Entitlement, operation: FulfillmentOperation, at: Instant
) -> Pushed | None:
    """Return what the operation has to push; None: nothing was ever owed."""
    desired = in_force(entitlement, at)
    if desired is None:
        return None
    asked = operation.desired
    resets = asked is not None and asked.reset_traffic
    return Pushed(
        desired=replace(desired, reset_traffic=resets),
        standing=standing(entitlement, at),
        at=at,
    )
