"""Columns of rows, packed as PostgreSQL reads arrays.

The format is told in `infrastructure.postgres.arrays`.  Values repeat: a state, a
queue or a tenant is packed once for the whole column.
"""

import struct
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final, LiteralString, NamedTuple

import msgspec
from psycopg import postgres

from infrastructure.postgres.arrays import PackedArray
from infrastructure.postgres.utc import EPOCH

_HEADER: Final = struct.Struct("!5i")
_SHORT: Final = struct.Struct("!ih")
_INT: Final = struct.Struct("!ii")
_LONG: Final = struct.Struct("!iq")
_DOUBLE: Final = struct.Struct("!id")
_NULL: Final = (-1).to_bytes(4, signed=True)
_TRUE: Final = b"\0\0\0\1\1"
_FALSE: Final = b"\0\0\0\1\0"
_SIXTEEN: Final = (16).to_bytes(4)
_JSONB_VERSION: Final = b"\1"
_DAY: Final = 86_400_000_000
_SECOND: Final = 1_000_000

_encoder: Final = msgspec.json.Encoder()

type _Pack = Callable[[Any], bytes]


def _text(value: str) -> bytes:
    told = value.encode()
    return len(told).to_bytes(4) + told


def _microseconds(value: datetime) -> int:
    since = value - EPOCH
    return since.days * _DAY + since.seconds * _SECOND + since.microseconds


_FIRST: Final = _microseconds(datetime.min.replace(tzinfo=UTC))
_LAST: Final = _microseconds(datetime.max.replace(tzinfo=UTC))


def _instant(value: datetime) -> bytes:
    told = _microseconds(value)
    if not _FIRST <= told <= _LAST:
        raise OverflowError  # PostgreSQL would take it, and nobody could read it back
    return _LONG.pack(8, told)


def _document(value: object) -> bytes:
    told = _JSONB_VERSION + _encoder.encode(value)
    return len(told).to_bytes(4) + told


class ColumnType(NamedTuple):
    """How values of one type are told to PostgreSQL."""

    array: LiteralString
    """What the parameter is cast to."""
    element: int
    pack: _Pack
    """One value that is not NULL, behind its length."""
    repeats: bool = True
    """Whether it is worth while to look for values that were packed before."""


def _type(name: str, array: LiteralString, pack: _Pack, **more: bool) -> ColumnType:
    info = postgres.types[name]
    return ColumnType(array, info.oid, pack, **more)


TYPES: Final[Mapping[str, ColumnType]] = {
    "uuid": _type("uuid", "uuid[]", lambda v: _SIXTEEN + v.bytes, repeats=False),
    "text": _type("text", "text[]", _text),
    "smallint": _type("int2", "smallint[]", lambda v: _SHORT.pack(2, v)),
    "integer": _type("int4", "integer[]", lambda v: _INT.pack(4, v)),
    "bigint": _type("int8", "bigint[]", lambda v: _LONG.pack(8, v)),
    "double precision": _type(
        "float8", "double precision[]", lambda v: _DOUBLE.pack(8, v)
    ),
    "boolean": _type("bool", "boolean[]", lambda v: _TRUE if v else _FALSE),
    "timestamp with time zone": _type(
        "timestamptz", "timestamptz[]", _instant, repeats=False
    ),
    "jsonb": _type("jsonb", "jsonb[]", _document, repeats=False),
}
"""Types of columns, as `format_type` names them."""


UNFIT_ERRORS: Final = (
    struct.error,
    UnicodeEncodeError,
    TypeError,
    AttributeError,
    OverflowError,
    RecursionError,
)
"""What packing raises when a value is none of its column's type."""


class ColumnArray(PackedArray):
    """One column of many rows; give it as `%(name)b::<its type's array>`."""

    __slots__ = ()
    oid = 0  # the cast tells the type

    def __init__(self, kind: ColumnType, values: Sequence[Any]) -> None:
        """Pack `values`; None is NULL.

        Raises one of `UNFIT_ERRORS` when one of them is no value of that type.
        """
        pack = kind.pack
        if kind.repeats:
            known: dict[Any, bytes] = {
                value: _NULL if value is None else pack(value) for value in set(values)
            }
            parts = [known[value] for value in values]
        else:
            parts = [_NULL if value is None else pack(value) for value in values]
        head = _HEADER.pack(1, _NULL in parts, kind.element, len(values), 1)
        self.packed = head + b"".join(parts)
