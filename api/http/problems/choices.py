"""What may stand at a place of a body: the words of a closed list, for who erred."""

from collections.abc import Iterator
from typing import Any, Final

import msgspec
from litestar import Request

from api.http.problems.pointers import steps

_MOST: Final = 40
"""Words that are told; a longer list is in the contract."""


def choices(request: Request[Any, Any, Any], path: str) -> tuple[str, ...]:
    """Return the words that the body may have there; none: not some words alone."""
    field = request.route_handler.parsed_data_field
    if field is None:
        return ()
    found = [msgspec.inspect.type_info(field.annotation)]
    for step in steps(path):
        found = [inner for each in found for inner in _inside(each, step)]
    words = tuple(word for each in found for word in _words(each))
    return words if len(words) <= _MOST else ()


def _inside(type_: msgspec.inspect.Type, step: str) -> Iterator[msgspec.inspect.Type]:
    match type_:
        case msgspec.inspect.StructType(fields=fields):
            for field in fields:
                if field.encode_name == step:
                    yield from _each(field.type)
        case msgspec.inspect.ListType(item_type=item):
            yield from _each(item)
        case msgspec.inspect.VarTupleType(item_type=item):
            yield from _each(item)
        case _:
            pass


def _each(type_: msgspec.inspect.Type) -> Iterator[msgspec.inspect.Type]:
    if isinstance(type_, msgspec.inspect.Metadata):
        yield from _each(type_.type)
    elif isinstance(type_, msgspec.inspect.UnionType):
        for each in type_.types:
            yield from _each(each)
    else:
        yield type_


def _words(type_: msgspec.inspect.Type) -> Iterator[str]:
    match type_:
        case msgspec.inspect.LiteralType(values=values):
            yield from map(str, values)
        case msgspec.inspect.EnumType(cls=cls):
            yield from (str(each.value) for each in cls)
        case _:
            pass
