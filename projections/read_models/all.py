"""Every projection of the product: the only list of them."""

from collections.abc import Mapping
from typing import Any, Final

from projections.read_models.attempts import Attempts
from projections.read_models.audit import Audit
from projections.read_models.dead_letters import DeadLetters
from projections.read_models.deliveries import Deliveries
from projections.read_models.drifts import Drifts
from projections.read_models.entitlements import Entitlements
from projections.read_models.jobs import Jobs
from projections.read_models.operations import Operations
from projections.read_models.orders import Orders
from projections.read_models.outbox_lag import OutboxLag
from projections.read_models.projection import Projection

type AnyProjection = Projection[Any]
"""A projection, whatever its rows are."""

ALL: Final[tuple[AnyProjection, ...]] = (
    Jobs(),
    Attempts(),
    DeadLetters(),
    Operations(),
    Deliveries(),
    Orders(),
    Entitlements(),
    Drifts(),
    Audit(),
    OutboxLag(),
)

BY_NAME: Final[Mapping[str, AnyProjection]] = {each.name: each for each in ALL}
