"""UUIDv7 from its parts: time-ordered ids that keep indexes and WAL flat.

The parts are arguments, so this module stays pure; infrastructure supplies the
clock and the random bytes.
"""

from uuid import UUID

_RANDOM_BITS = 74


def uuid7_from(unix_ms: int, random_bits: int) -> UUID:
    """Return the UUIDv7 (RFC 9562) of a Unix time in ms and 74 random bits."""
    rand_a = (random_bits >> 62) & 0xFFF
    rand_b = random_bits & ((1 << 62) - 1)
    time = unix_ms & ((1 << 48) - 1)
    return UUID(int=time << 80 | 0x7 << 76 | rand_a << 64 | 0b10 << 62 | rand_b)
