"""Arrays as PostgreSQL reads them, packed at once instead of element by element.

The driver's own list dumper calls Python code for every element, which was a tenth
of what a worker spends on a job.  Format: src/backend/utils/adt/arrayfuncs.c,
`array_recv`: dimensions, flags, element type, then (length, lower bound) of the one
dimension, then each element behind its length.
"""

from collections.abc import Sequence
from struct import Struct, pack
from typing import Any, ClassVar, Final, override
from uuid import UUID

import psycopg
from psycopg import postgres
from psycopg.abc import AdaptContext
from psycopg.adapt import Dumper
from psycopg.pq import Format

from infrastructure.ids import new_raw_ids

_HEADER: Final = Struct("!5i")
_UUID: Final = postgres.types["uuid"].oid
_UUIDS: Final = postgres.types["uuid"].array_oid
_INT4: Final = postgres.types["int4"].oid
_INT4S: Final = postgres.types["int4"].array_oid
_INT2: Final = postgres.types["int2"].oid
_INT2S: Final = postgres.types["int2"].array_oid
_TEXT: Final = postgres.types["text"].oid
_TEXTS: Final = postgres.types["text"].array_oid
_BEFORE_UUID: Final = (16).to_bytes(4)
_NULL: Final = (-1).to_bytes(4, signed=True)


class PackedArray:
    """A parameter that is packed already."""

    __slots__ = ("packed",)
    oid: ClassVar[int]
    """Of the array's type."""
    packed: bytes


class UuidArray(PackedArray):
    """A `uuid[]` parameter; give it as `%(name)b`."""

    __slots__ = ()
    oid = _UUIDS

    def __init__(self, raw: Sequence[bytes]) -> None:
        """Pack ids of 16 bytes each."""
        head = _HEADER.pack(1, 0, _UUID, len(raw), 1)
        parts = (head, *raw)
        self.packed = _BEFORE_UUID.join(parts)

    @classmethod
    def of(cls, ids: Sequence[UUID]) -> "UuidArray":
        """Pack `ids`."""
        return cls([each.bytes for each in ids])

    @classmethod
    def new(cls, n: int) -> "UuidArray":
        """Pack `n` new UUIDv7."""
        return cls(new_raw_ids(n))


class IntArray(PackedArray):
    """An `int[]` parameter; give it as `%(name)b`."""

    __slots__ = ()
    oid = _INT4S

    def __init__(self, values: Sequence[int]) -> None:
        """Pack `values`.

        Raises:
            struct.error: one of them does not fit into 32 bits.
        """
        n = len(values)
        with_lengths = [4] * (2 * n)
        with_lengths[1::2] = values
        head = _HEADER.pack(1, 0, _INT4, n, 1)
        self.packed = head + pack(f"!{2 * n}i", *with_lengths)


class SmallIntArray(PackedArray):
    """A `smallint[]` parameter; give it as `%(name)b`."""

    __slots__ = ()
    oid = _INT2S

    def __init__(self, values: Sequence[int]) -> None:
        """Pack `values`.

        Raises:
            struct.error: one of them does not fit into 16 bits.
        """
        n = len(values)
        with_lengths = [2] * (2 * n)
        with_lengths[1::2] = values
        head = _HEADER.pack(1, 0, _INT2, n, 1)
        self.packed = head + pack("!" + "ih" * n, *with_lengths)


class TextArray(PackedArray):
    """A `text[]` parameter; give it as `%(name)b`."""

    __slots__ = ()
    oid = _TEXTS

    def __init__(self, texts: Sequence[bytes | None]) -> None:
        """Pack texts in UTF-8, which is what our connections speak; None is NULL."""
        parts = [_HEADER.pack(1, None in texts, _TEXT, len(texts), 1)]
        for text in texts:
            if text is None:
                parts.append(_NULL)
            else:
                parts += (len(text).to_bytes(4), text)
        self.packed = b"".join(parts)


class _PackedDumper(Dumper):
    format = Format.BINARY

    def __init__(self, cls: type[PackedArray], context: AdaptContext | None) -> None:
        super().__init__(cls, context)
        self.oid = cls.oid

    @override
    def dump(self, obj: PackedArray) -> bytes:
        return obj.packed


def take_packed_arrays(connection: psycopg.Connection[Any]) -> None:
    """Let `connection` send packed arrays."""
    connection.adapters.register_dumper(PackedArray, _PackedDumper)
