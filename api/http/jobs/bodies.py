"""What is asked about jobs."""

from datetime import datetime
from typing import Annotated

import msgspec


class Snooze(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    rename="camel",
    forbid_unknown_fields=True,
):
    """Until when a job is to wait."""

    until: Annotated[
        datetime,
        msgspec.Meta(
            tz=True,
            description="RFC 3339, still to come by the database's clock",
            examples=["2099-01-01T00:00:00Z"],
        ),
    ]
