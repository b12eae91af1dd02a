"""Bodies, read strictly: one JSON value that means one thing, or a problem.

Refused: what is not UTF-8 or not JSON, names given twice, NaN and its like, text that
PostgreSQL cannot hold (NUL, lone surrogates), and nesting deeper than `DEEPEST`.
"""

import json
import re
from collections.abc import Iterator
from typing import Any, Final, NoReturn, cast, override

import msgspec
from litestar import Request
from litestar.connection import ASGIConnection
from litestar.exceptions import InternalServerException

from api.http.problems.catalogue import (
    INVALID_REQUEST,
    UNKNOWN_FIELD,
    UNSUPPORTED_MEDIA_TYPE,
)
from api.http.problems.pointers import pointer
from api.http.problems.problem import Mistake, ProblemError
from domain.text import storable

CUT: Final = "cut"
"""Of a request's state: the problem for which its sender was hung up on."""
LARGEST: Final = 1 << 20
"""Bytes of a body."""
DEEPEST: Final = 64
_SUSPICIOUS: Final = re.compile(rb"\\u(0000|[dD][89a-fA-F])|\x00")
_UNSTORABLE: Final = re.compile("[\0\ud800-\udfff]")
_JSON: Final = "application/json"
_AS_IT_IS: Final = "identity"


class StrictRequest(Request[Any, Any, Any]):
    """A request whose body is decoded by our rules, into what its route takes."""

    @override
    async def body(self) -> bytes:
        """Return the body, all of it.

        Raises:
            ProblemError: whoever sends it has left; nobody hears of it.
        """
        try:
            return await super().body()
        except InternalServerException:
            detail = "the connection ended before the body did"
            code: str = self.scope["state"].get(CUT, INVALID_REQUEST)
            raise ProblemError(code, detail) from None

    @override
    async def json(self) -> Any:
        """Return the body as the route's own struct.

        Raises:
            ProblemError: it is not JSON as we take it.
            msgspec.ValidationError: it is none of what the route takes.
        """
        media_type, options = self.content_type
        charset = options.get("charset", "utf-8").lower()
        if self.headers.get("content-encoding", _AS_IT_IS).lower() != _AS_IT_IS:
            detail = "send it as it is, without a Content-Encoding"
            raise ProblemError(UNSUPPORTED_MEDIA_TYPE, detail)
        if media_type != _JSON or charset not in {"utf-8", "utf8"}:
            detail = "send application/json in UTF-8"
            raise ProblemError(UNSUPPORTED_MEDIA_TYPE, detail)
        value = read(await self.body())
        field = self.route_handler.parsed_data_field
        return value if field is None else msgspec.convert(value, field.annotation)


async def refuse_body(connection: ASGIConnection[Any, Any, Any, Any]) -> None:
    """Let pass a request without a body, or with an object that says nothing.

    Raises:
        ProblemError: something is said that nobody would look at.
    """
    if isinstance(connection, Request) and (await connection.body()).strip() not in {
        b"",
        b"{}",
    }:
        detail = "it takes no body: send none"
        mistake = Mistake(pointer="#", code=UNKNOWN_FIELD, detail=detail)
        raise ProblemError(UNKNOWN_FIELD, detail, mistakes=(mistake,))


def read(body: bytes) -> object:
    """Return the one JSON value that `body` is.

    Raises:
        ProblemError: it is none that we take.
    """
    try:
        text = body.decode()
        value: object = json.loads(
            text, object_pairs_hook=_object, parse_constant=_refuse_constant
        )
    except UnicodeDecodeError:
        _refuse("#", "it is not UTF-8")
    except json.JSONDecodeError as error:
        _refuse("#", f"it is not JSON: {error.msg} at byte {error.pos}")
    except RecursionError:
        _refuse("#", _TOO_DEEP)
    except ValueError:
        _refuse("#", "a number has too many digits")
    if body.count(b"[") + body.count(b"{") > DEEPEST or _SUSPICIOUS.search(body):
        _check(value)
    return value


_TOO_DEEP: Final = f"it is nested deeper than {DEEPEST}"


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    made = dict(pairs)
    if len(made) != len(pairs):
        seen = set[str]()
        for name, _ in pairs:
            if name in seen:
                _refuse(
                    "#", f"the name {storable(name, 64)!r} is given twice in one object"
                )
            seen.add(name)
    return made


def _refuse_constant(name: str) -> NoReturn:
    _refuse("#", f"{name} is not JSON")


def _check(value: object) -> None:
    """Look at every text and at the depth; iteratively, whatever was sent."""
    left: list[tuple[str, int, object]] = [("$", 0, value)]
    while left:
        path, depth, each = left.pop()
        if depth > DEEPEST:
            _refuse("#", _TOO_DEEP)
        if isinstance(each, str):
            if _UNSTORABLE.search(each):
                _refuse(pointer(path), "it holds NUL or half of a character")
            continue
        for name, child in _children(cast("Plain", each)):
            if isinstance(name, str) and _UNSTORABLE.search(name):
                _refuse(pointer(path), "a name holds NUL or half of a character")
            step = f"[{name}]" if isinstance(name, int) else f".{name}"
            left.append((path + step, depth + 1, child))


type Plain = dict[str, object] | list[object] | str | float | bool | None


def _children(value: Plain) -> Iterator[tuple[str | int, object]]:
    if isinstance(value, dict):
        yield from value.items()
    elif isinstance(value, list):
        yield from enumerate(value)


def _refuse(where: str, rule: str) -> NoReturn:
    mistake = Mistake(pointer=where, code="invalid_member", detail=rule)
    raise ProblemError(INVALID_REQUEST, f"the body: {rule}", mistakes=(mistake,))
