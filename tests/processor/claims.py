"""Claims that no database has seen."""

from datetime import UTC, datetime
from typing import Any

import msgspec

from infrastructure.ids import new_id
from infrastructure.processor.claimed import ClaimedJob

BEFORE = datetime(2026, 1, 1, tzinfo=UTC)


def claimed(**more: Any) -> ClaimedJob:  # noqa: ANN401 - members of a claim
    """Return a claim like any other, but for what is given."""
    plain = ClaimedJob(
        id=new_id(),
        tenant_id="default",
        kind="noop",
        token=2,
        attempt=1,
        max_attempts=None,
        args="{}",
        due=bytes(8),
        deadline=None,
        correlation_id="c",
        priority=1,
        claimed_at=BEFORE,
        queue="default",
        unique_key=None,
    )
    return msgspec.structs.replace(plain, **more)
