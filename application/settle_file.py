"""Settle the orders of a file, each in a transaction of its own.

A line that is refused is reported and the rest is settled; settling the same file
again changes nothing, because every order has its own key.
"""

from collections.abc import Callable
from typing import IO, assert_never

import msgspec

from application.front_door import (
    KeyReusedError,
    OrderBusyError,
    Settled,
    SettleOne,
)
from application.order_file import (
    BadRecord,
    OrderFileError,
    Orders,
    Record,
    read_orders,
)
from application.order_map import check_map, fill
from domain.errors import InvalidRequestError
from domain.event import JsonObject


class Refusal(msgspec.Struct, frozen=True, kw_only=True):
    """One line that was not settled, and why."""

    line: int
    path: str
    """The member that is wrong; empty when the line cannot be read."""
    code: str
    detail: str


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """How many orders were dealt with so far."""

    settled: int = 0
    replayed: int = 0
    """Settled before, by the same content under the same id."""
    refused: int = 0


class SettledFile(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a file."""

    settled: int
    replayed: int
    refused: tuple[Refusal, ...]
    position: int
    """A reader at this position of the log sees them all; 0 when there are none."""


def _no_one(_: Progress) -> None:
    """Nobody watches."""


def settle_file(
    stream: IO[bytes],
    template: JsonObject | None,
    settle: SettleOne,
    watch: Callable[[Progress], None] = _no_one,
) -> SettledFile:
    """Settle every order of `stream`, and tell `watch` after each.

    `template` is the map; without one, each line is a settlement itself.

    Raises:
        OrderFileError: the file cannot be read at all; nothing was settled.
        OrderMapError: the map makes no sense; nothing was settled.
    """
    orders = _opened(stream, template)
    done = Progress()
    refusals: list[Refusal] = []
    position = 0
    for record in orders.records:
        outcome = _settle(record, template, settle)
        if isinstance(outcome, Refusal):
            refusals.append(outcome)
        else:
            position = max(position, outcome.position)
        done = _counted(done, outcome)
        watch(done)
    return SettledFile(
        settled=done.settled,
        replayed=done.replayed,
        refused=tuple(refusals),
        position=position,
    )


def _opened(stream: IO[bytes], template: JsonObject | None) -> Orders:
    orders = read_orders(stream, as_columns=template is not None)
    if template is not None:
        check_map(template, orders)
    elif orders.columns is not None:
        told = "these are columns; a map must say what they mean (--map MAP.json)"
        raise OrderFileError(orders.header_line, told)
    return orders


def _settle(
    record: Record | BadRecord, template: JsonObject | None, settle: SettleOne
) -> Settled | Refusal:
    if isinstance(record, BadRecord):
        return Refusal(
            line=record.line, path=record.path, code=record.code, detail=record.detail
        )
    try:
        request = record.value if template is None else fill(template, record)
        return settle(request)
    except (InvalidRequestError, KeyReusedError, OrderBusyError) as error:
        return Refusal(
            line=record.line, path=error.path, code=error.code, detail=error.detail
        )


def _counted(done: Progress, outcome: Settled | Refusal) -> Progress:
    match outcome:
        case Refusal():
            return msgspec.structs.replace(done, refused=done.refused + 1)
        case Settled(replayed=True):
            return msgspec.structs.replace(done, replayed=done.replayed + 1)
        case Settled():
            return msgspec.structs.replace(done, settled=done.settled + 1)
        case _:
            assert_never(outcome)
