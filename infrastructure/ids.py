"""Business ids from the shell: UUIDv7 of this machine's clock and randomness.

The clock only orders ids roughly, for the sake of indexes; no decision reads it.
"""

import os
import time
from uuid import UUID

from domain.ids import RANDOM_BYTES, uuid7_from, uuid7s_packed


def new_id() -> UUID:
    """Return a new UUIDv7."""
    return uuid7_from(_unix_ms(), int.from_bytes(os.urandom(RANDOM_BYTES)))


def new_raw_ids(n: int) -> list[bytes]:
    """Return `n` new UUIDv7 of 16 bytes each, by one draw of randomness."""
    return uuid7s_packed(_unix_ms(), os.urandom(n * RANDOM_BYTES))


def _unix_ms() -> int:
    return time.time_ns() // 1_000_000
