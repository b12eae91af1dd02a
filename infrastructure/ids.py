"""Business ids from the shell: UUIDv7 of this machine's clock and randomness.

The clock only orders ids roughly, for the sake of indexes; no decision reads it.
"""

import os
import time
from uuid import UUID

from domain.ids import uuid7_from


def new_id() -> UUID:
    """Return a new UUIDv7."""
    unix_ms = time.time_ns() // 1_000_000
    return uuid7_from(unix_ms, int.from_bytes(os.urandom(10)))
