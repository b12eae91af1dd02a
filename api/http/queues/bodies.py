"""What is asked of queues."""

from datetime import datetime
from typing import Annotated

import msgspec

from domain.queues.queue import MOST_CONCURRENT


class QueuePatch(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel",
    forbid_unknown_fields=True,
):  # fmt: skip
    """How much of a queue may run at once."""

    concurrency: Annotated[int, msgspec.Meta(ge=1, le=MOST_CONCURRENT)] | None
    """Over all processes; null: no limit."""


class QueuePausing(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel",
    forbid_unknown_fields=True,
):  # fmt: skip
    """Until when a queue is paused."""

    expires_at: Annotated[
        datetime,
        msgspec.Meta(tz=True, description="RFC 3339; at most 24 hours from now"),
    ]
