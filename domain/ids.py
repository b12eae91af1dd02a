"""UUIDv7 from its parts: time-ordered ids that keep indexes and WAL flat.

The parts are arguments, so this module stays pure; infrastructure supplies the
clock and the random bytes.
"""

from uuid import UUID

RANDOM_BYTES = 10
"""What one id takes; six of their bits give way to the version and the variant."""

_UNIX_MS_BITS = 48
_VERSION = 7


def uuid7s_packed(unix_ms: int, noise: bytes) -> list[bytes]:
    """Return a UUIDv7 (RFC 9562), 16 bytes, of each `RANDOM_BYTES` of `noise`."""
    began = (unix_ms & ((1 << _UNIX_MS_BITS) - 1)).to_bytes(_UNIX_MS_BITS // 8)
    return [
        began
        + bytes((0x70 | noise[i] & 0x0F, noise[i + 1], 0x80 | noise[i + 2] & 0x3F))
        + noise[i + 3 : i + RANDOM_BYTES]
        for i in range(0, len(noise), RANDOM_BYTES)
    ]


def uuid7_from(unix_ms: int, random_bits: int) -> UUID:
    """Return the UUIDv7 of a Unix time in ms and 74 random bits."""
    rand_a = (random_bits >> 62) & 0xFFF
    rand_b = random_bits & ((1 << 62) - 1)
    noise = (rand_a << 64 | rand_b).to_bytes(RANDOM_BYTES)
    return UUID(bytes=uuid7s_packed(unix_ms, noise)[0])


def unix_ms_of(id_: UUID) -> int | None:
    """Return when a UUIDv7 was made, as Unix time in ms; None: it is another one."""
    return int.from_bytes(id_.bytes[:6]) if id_.version == _VERSION else None
