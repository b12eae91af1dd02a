"""Reading orders from a file of CSV or JSON lines, one record at a time.

A record that cannot be read is a `BadRecord` and does not end the reading.  A file
whose first bytes make no sense of the rest (no header, a column twice) does.
"""

import csv
import json
from collections.abc import Callable, Iterable, Iterator
from typing import IO

import msgspec

from application.errors import ApplicationError
from domain.event import JsonObject


class OrderFileError(ApplicationError):
    """The file, or the map over it, makes no sense; nothing was settled."""

    code = "unusable_file"

    def __init__(self, line: int, detail: str) -> None:
        """Name the line (from 1) and what is wrong there."""
        self.line = line
        self.detail = detail
        super().__init__(f"line {line}: {detail}")


class Record(msgspec.Struct, frozen=True):
    """One order of the file."""

    line: int
    """Line on which it begins, from 1."""
    row: int
    """Its number among the orders, from 1."""
    value: JsonObject
    """Its members; of CSV, and of JSON lines that are read as columns, texts."""


class BadRecord(msgspec.Struct, frozen=True):
    """One record that could not be read."""

    line: int
    path: str
    code: str
    detail: str


class Orders(msgspec.Struct, frozen=True):
    """What a file holds: its columns when it has a header, and its records."""

    columns: tuple[str, ...] | None
    header_line: int
    """Line of the header; of JSON lines the first line that holds one."""
    records: Iterator[Record | BadRecord]


def read_orders(stream: IO[bytes], *, as_columns: bool) -> Orders:
    """Return the orders of `stream`: JSON lines if it begins with `{`, else CSV.

    `as_columns` says that a map reads them: then numbers of JSON keep their digits,
    as text, so that no amount ever passes through a float.

    Raises:
        OrderFileError: the file is empty, or its header is unusable.
    """
    lines = enumerate(_decoded(stream), start=1)
    for number, line in lines:
        if line.strip():
            rest = _chained(line, (told for _, told in lines))
            if line.lstrip().startswith("{"):
                return Orders(
                    None, number, _json_lines(rest, number, as_columns=as_columns)
                )
            return _csv(rest, number)
    raise OrderFileError(1, "the file is empty")


def _decoded(stream: IO[bytes]) -> Iterator[str]:
    """Yield lines of text; a byte that is no UTF-8 becomes a lone surrogate.

    So only the line that holds it is refused.  The mark that spreadsheets put first
    is dropped.
    """
    encoding = "utf-8-sig"
    for line in stream:
        yield line.decode(encoding, "surrogateescape")
        encoding = "utf-8"


def _chained(first: str, rest: Iterable[str]) -> Iterator[str]:
    yield first
    yield from rest


def _json_lines(
    lines: Iterable[str], first: int, *, as_columns: bool
) -> Iterator[Record | BadRecord]:
    row = 0
    for number, line in enumerate(lines, start=first):
        if line.strip():
            row += 1
            yield _json_line(line, number, row, as_columns=as_columns)


def _json_line(
    line: str, number: int, row: int, *, as_columns: bool
) -> Record | BadRecord:
    keep = str if as_columns else None
    try:
        value: object = json.loads(
            line,
            parse_int=keep,
            parse_float=keep,
            parse_constant=_no_number,
            object_pairs_hook=_members,
        )
    except (ValueError, RecursionError) as error:
        return BadRecord(number, "", "invalid_json", str(error))
    if not isinstance(value, dict):
        return BadRecord(number, "", "invalid_json", "an object is wanted")
    return Record(number, row, msgspec.convert(value, JsonObject))


def _no_number(name: str) -> object:
    msg = f"{name} is no JSON number"
    raise ValueError(msg)


def _members(pairs: list[tuple[str, object]]) -> JsonObject:
    members = dict(pairs)
    if len(members) != len(pairs):
        msg = "an object has the same member twice"
        raise ValueError(msg)
    return members


def _csv(lines: Iterator[str], first: int) -> Orders:
    reader = csv.reader(lines, strict=True)
    try:
        header = tuple(name.strip() for name in next(reader))
    except csv.Error as error:
        raise OrderFileError(first, f"the header cannot be read: {error}") from error
    for place, name in enumerate(header, start=1):
        if not name:
            raise OrderFileError(first, f"column {place} of the header has no name")
        if name in header[: place - 1]:
            raise OrderFileError(first, f"the header names column {name!r} twice")
    records = _csv_records(reader, header, lambda: first + reader.line_num)
    return Orders(header, first, records)


def _csv_records(
    reader: Iterator[list[str]], header: tuple[str, ...], next_line: Callable[[], int]
) -> Iterator[Record | BadRecord]:
    row = 0
    while True:
        begins = next_line()
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            row += 1
            yield BadRecord(begins, "", "invalid_csv", str(error))
            continue
        if not any(cells) or (len(cells) == 1 and not cells[0].strip()):
            continue
        row += 1
        if len(cells) == len(header):
            yield Record(begins, row, dict(zip(header, cells, strict=True)))
        else:
            told = f"{len(cells)} columns, but the header names {len(header)}"
            yield BadRecord(begins, "", "invalid_csv", told)
