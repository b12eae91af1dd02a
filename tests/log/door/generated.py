"""Generated events of every class, from what msgspec knows about their fields."""

from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from typing import Any

from hypothesis import strategies as st
from msgspec import inspect

# What `domain.text.clean` lets through: no NUL, no lone surrogates.
TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=20)
INTEGERS = st.integers(min_value=-(2**63), max_value=2**63 - 1)
INSTANTS = st.datetimes(
    # A day away from both ends: another offset must not leave the years 1 to 9999.
    min_value=datetime(1, 1, 2),  # noqa: DTZ001 - the zone is drawn beside it
    max_value=datetime(9999, 12, 30),  # noqa: DTZ001
    timezones=st.integers(-14 * 60, 14 * 60).map(
        lambda minutes: timezone(timedelta(minutes=minutes))
    ),
)
# Floats in the range that JSON promises (RFC 8259): jsonb writes a greater one down as
# an integer of its decimal digits, which is another number than the binary one.
FLOATS = st.floats(min_value=-(2.0**53), max_value=2.0**53)
JSON = st.recursive(
    st.none() | st.booleans() | INTEGERS | FLOATS | TEXT,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3)
    ),
    max_leaves=8,
)


def instances[T](made: type[T]) -> st.SearchStrategy[T]:
    """Return a strategy for instances of a struct, every field drawn."""
    strategy: st.SearchStrategy[T] = _of(inspect.type_info(made))
    return strategy


def _struct(info: inspect.StructType) -> st.SearchStrategy[Any]:
    return st.builds(info.cls, **{field.name: _of(field.type) for field in info.fields})


_BY_INFO: dict[type[inspect.Type], Callable[[Any], st.SearchStrategy[Any]]] = {
    inspect.BoolType: lambda _: st.booleans(),
    inspect.CustomType: lambda _: JSON,  # `object`: JSON that we carry unread
    inspect.DateTimeType: lambda _: INSTANTS,
    inspect.DictType: lambda info: st.dictionaries(
        _of(info.key_type), _of(info.value_type), max_size=3
    ),
    inspect.FloatType: lambda _: FLOATS,
    inspect.IntType: lambda _: INTEGERS,
    inspect.LiteralType: lambda info: st.sampled_from(info.values),
    inspect.NoneType: lambda _: st.none(),
    inspect.StrType: lambda _: TEXT,
    inspect.StructType: _struct,
    inspect.UnionType: lambda info: st.one_of(*(_of(each) for each in info.types)),
    inspect.UUIDType: lambda _: st.uuids(),
    inspect.VarTupleType: lambda info: st.lists(_of(info.item_type), max_size=3).map(
        tuple
    ),
}


def _of(info: inspect.Type) -> st.SearchStrategy[Any]:
    if isinstance(info, inspect.Metadata):
        return _of(info.type)
    return _BY_INFO[type(info)](info)
