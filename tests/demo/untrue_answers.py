"""What read models that went wrong would tell, and what the log would say then."""

import sqlite3
from dataclasses import replace

from infrastructure.demo.diary import Answers, Diary, Waiting
from infrastructure.postgres.database import Connection
from tests.demo.lies import Lie, in_log

STARTED = "fulfillment.attempt_started"

HAPPENED = "read models: what happened"
DEAD = "read models: who is dead"
WAITED = "read models: what waited"
WAITS = "read models: orders that wait for nothing"
FOLDS = "read models: rows that are as a fold"


def answers(diary: Diary) -> Answers:
    assert diary.answers is not None
    return diary.answers


def waiting(diary: Diary) -> Waiting:
    assert diary.window is not None
    assert diary.window.waiting is not None
    return diary.window.waiting


def _one_attempt_more(_: sqlite3.Connection, __: Connection, diary: Diary) -> None:
    told = answers(diary)
    more = {**told.attempts, STARTED: told.attempts[STARTED] + 1}
    diary.answers = replace(told, attempts=more)


def _nobody_is_dead(_: sqlite3.Connection, __: Connection, diary: Diary) -> None:
    assert answers(diary).dead
    diary.answers = replace(answers(diary), dead={})


def _dead_of_something_else(
    _: sqlite3.Connection, __: Connection, diary: Diary
) -> None:
    told = answers(diary)
    causes = {f"{cause} or so": n for cause, n in told.dead.items()}
    diary.answers = replace(told, dead=causes)


def _one_waits_no_more(_: sqlite3.Connection, __: Connection, diary: Diary) -> None:
    told = waiting(diary)
    parked = next(order for order, of in told.orders.items() if of == "parked")
    others = {order: of for order, of in told.orders.items() if order != parked}
    assert diary.window is not None
    diary.window.waiting = replace(told, orders=others)


def _one_more_waits(_: sqlite3.Connection, __: Connection, diary: Diary) -> None:
    told = waiting(diary)
    no_more = next(order for order in diary.sales if order not in told.orders)
    others = {**told.orders, no_more: "turn"}
    assert diary.window is not None
    diary.window.waiting = replace(told, orders=others)


def _it_waits_for_nothing(_: sqlite3.Connection, __: Connection, diary: Diary) -> None:
    told = waiting(diary)
    assert diary.window is not None
    diary.window.waiting = replace(told, orders=dict.fromkeys(told.orders, "nothing"))


def _nothing_is_held(_: sqlite3.Connection, __: Connection, diary: Diary) -> None:
    assert waiting(diary).held
    assert diary.window is not None
    diary.window.waiting = replace(waiting(diary), held=frozenset())


def _one_still_waits(_: sqlite3.Connection, __: Connection, diary: Diary) -> None:
    order = next(iter(diary.sales))
    diary.answers = replace(answers(diary), waiting={order: "retry"})


def _one_is_behind(_: sqlite3.Connection, __: Connection, diary: Diary) -> None:
    told = answers(diary)
    behind = replace(told.compared["orders"], lag=1)
    diary.answers = replace(told, compared={**told.compared, "orders": behind})


def _nobody_has_asked(_: sqlite3.Connection, __: Connection, diary: Diary) -> None:
    diary.answers = None


UNTRUE_ANSWERS: dict[str, tuple[Lie, str]] = {
    "an attempt is told that never was": (_one_attempt_more, HAPPENED),
    "an attempt was forgotten by the log": (
        in_log(
            f"""
            DELETE FROM counterfoil.events WHERE position = (
                SELECT min(position) FROM counterfoil.events WHERE type = '{STARTED}')
            """  # noqa: S608 - a tag
        ),
        HAPPENED,
    ),
    "nobody is told to be dead": (_nobody_is_dead, DEAD),
    "somebody is dead of something else": (_dead_of_something_else, DEAD),
    "an order that waits is not told": (_one_waits_no_more, WAITED),
    "an order is told to wait that is fulfilled": (_one_more_waits, WAITED),
    "orders wait, and nobody knows for what": (_it_waits_for_nothing, WAITED),
    "nothing is told to be held": (_nothing_is_held, WAITED),
    "an order is told to wait in the end": (_one_still_waits, WAITS),
    "an order that waits in the end is not told": (
        in_log(
            """
            DELETE FROM counterfoil.events WHERE position = (
                SELECT min(position) FROM counterfoil.events
                 WHERE type = 'order.fulfilled')
            """
        ),
        WAITS,
    ),
    "a read model is behind": (_one_is_behind, FOLDS),
    "nobody has asked the read models": (_nobody_has_asked, FOLDS),
}
