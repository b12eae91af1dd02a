"""What PostgreSQL makes of JSON: the text of a `jsonb`, and what it refuses."""

import json
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Final

import msgspec

from domain.event import JsonObject
from domain.members import invalid, is_list, is_object
from domain.plain_json import Plain
from infrastructure.client import plain_args

MOST_BYTES: Final = 262_144
"""Of the arguments of one job, as `counterfoil.enqueue` has it."""


def as_stored(args: msgspec.Struct | Mapping[str, object] | None) -> str:
    """Return the text in which a worker finds the arguments of a job.

    Raises:
        InvalidRequestError: the front door would refuse them.
    """
    text = _text(plain_args(args))
    if len(text.encode()) > MOST_BYTES:
        invalid("args", "an object of at most 256 KiB")
    return text


def _text(value: Plain) -> str:
    match value:
        case dict():
            # The shorter name first, as jsonb orders them.
            names = sorted(value, key=lambda name: (len(name.encode()), name.encode()))
            told = (f"{_text(name)}: {_text(value[name])}" for name in names)
            return f"{{{', '.join(told)}}}"
        case list():
            return f"[{', '.join(_text(each) for each in value)}]"
        case float():
            # Numbers are numeric: no exponent, and no sign of zero.
            return f"{Decimal(repr(value)) if value else Decimal('0.0'):f}"
        case _:
            return json.dumps(value, ensure_ascii=False)


def as_read(result: JsonObject) -> JsonObject:
    """Return a result that can be stored as readers of the log find it."""
    told: Plain = msgspec.json.decode(msgspec.json.encode(result))
    return _decoder.decode(_text(told))


def unstorable(result: JsonObject) -> str | None:
    """Return why PostgreSQL refuses a result that is JSON, or None."""
    return _fault(_decoder.decode(msgspec.json.encode(result)), "result")


_decoder: Final = msgspec.json.Decoder(dict[str, object])


def _fault(value: object, path: str) -> str | None:
    if isinstance(value, str):
        return f"{path}: NUL in a text cannot be stored" if "\0" in value else None
    faults = (_fault(each, where) for each, where in _inside(value, path))
    return next((fault for fault in faults if fault is not None), None)


def _inside(value: object, path: str) -> Iterator[tuple[object, str]]:
    """Yield what a value holds, names of members too, and where it is."""
    if is_object(value):
        for name, each in value.items():
            yield name, path
            yield each, f"{path}.{name}"
    elif is_list(value):
        for n, each in enumerate(value):
            yield each, f"{path}[{n}]"
