"""What a wrong product would have left behind: in the panel's book, or in the log.

Each is one lie, and the question of the check that must notice it.
"""

import sqlite3
import sys
from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace

from infrastructure.demo.diary import Diary, Mark, Sale, Window
from infrastructure.postgres.database import Connection

type Books = tuple[sqlite3.Connection, Connection, Diary]
type Lie = Callable[[sqlite3.Connection, Connection, Diary], object]


def in_book(statement: str) -> Lie:
    """Return a lie of the panel's book."""

    def tell(book: sqlite3.Connection, _log: Connection, _diary: Diary) -> None:
        assert book.execute(statement).rowcount > 0

    return tell


def of_the_living(statement: str) -> Lie:
    """Return a lie of the panel's book that asks `living` for users' names.

    What a customer shows of whom something waits for a person is nobody's question.
    """

    def tell(book: sqlite3.Connection, log: Connection, _diary: Diary) -> None:
        book.execute("CREATE TEMP TABLE living (username TEXT)")
        names = [(username,) for _, username in _living(log)]
        book.executemany("INSERT INTO living VALUES (?)", names)
        assert book.execute(statement).rowcount > 0

    return tell


def in_log(statement: str) -> Lie:
    """Return a lie of the log or its heads."""

    def tell(_book: sqlite3.Connection, log: Connection, _diary: Diary) -> None:
        assert log.execute(statement.encode()).rowcount > 0

    return tell


def told(log: Connection, book: sqlite3.Connection, diary: Diary, tell: Lie) -> Diary:
    """Return the diary after the lie; the log takes it, which it never would."""
    log.execute("SET LOCAL session_replication_role = replica")
    changed = deepcopy(diary)
    tell(book, log, changed)
    return changed


_LIVING = b"""
SELECT e.customer_id, e.username
  FROM counterfoil.entitlements e
 WHERE NOT EXISTS (SELECT FROM counterfoil.operations op
                    WHERE op.entitlement_id = e.stream_id
                      AND op.state = 'failed')
"""


def _living(log: Connection) -> list[tuple[str, str]]:
    """Return the customers of whom nothing is dead, and their users' names."""
    return [(str(who), str(name)) for who, name in log.execute(_LIVING)]


def _one_order_more(_: sqlite3.Connection, __: Connection, diary: Diary) -> None:
    goods = next(iter(diary.sales.values())).goods
    diary.sales["cdnow:more"] = Sale("00004", 30, goods)


def _another_customer(_: sqlite3.Connection, __: Connection, diary: Diary) -> None:
    order, sale = next(iter(diary.sales.items()))
    diary.sales[order] = replace(sale, customer="nobody")


def _more_days(_: sqlite3.Connection, log: Connection, diary: Diary) -> None:
    living = dict(_living(log))
    sales = diary.sales.items()
    order, sale = next(each for each in sales if each[1].customer in living)
    diary.sales[order] = replace(sale, days=sale.days + 1)


def _nobody_asked(_: sqlite3.Connection, __: Connection, diary: Diary) -> None:
    asked = diary.asked.items()
    del diary.asked[next(key for key, it in asked if it.operation == "set_limits")]


def _asked_for_less(_: sqlite3.Connection, log: Connection, diary: Diary) -> None:
    living = dict(_living(log))
    key, asked = next(
        (key, asked)
        for key, asked in diary.asked.items()
        if asked.operation == "extend" and asked.customer in living
    )
    diary.asked[key] = replace(asked, given={"endsAt": "2027-01-01T00:00:00Z"})


def _nobody_refunded(_: sqlite3.Connection, __: Connection, diary: Diary) -> None:
    diary.refunds.popitem()


def _nobody_edited(_: sqlite3.Connection, __: Connection, diary: Diary) -> None:
    diary.edits.pop()


def _nobody_tried(_: sqlite3.Connection, __: Connection, diary: Diary) -> None:
    diary.tried.clear()


def _longer_closed(_: sqlite3.Connection, __: Connection, diary: Diary) -> None:
    _window(diary).last = Mark(sys.maxsize, 0)


def _a_request_in_between(
    book: sqlite3.Connection, _: Connection, diary: Diary
) -> None:
    began = _window(diary).first.at_ns + 1
    statement = "UPDATE requests SET began_ns = ? WHERE seq = ?"
    (last,) = book.execute("SELECT max(seq) FROM requests").fetchone()
    book.execute(statement, (began, last))


def _more_settled(_: sqlite3.Connection, __: Connection, diary: Diary) -> None:
    _window(diary).settled = len(diary.sales)


def _more_held(_: sqlite3.Connection, __: Connection, diary: Diary) -> None:
    _window(diary).held = len(diary.sales)


def _no_refund_took_effect(book: sqlite3.Connection, log: Connection, _: Diary) -> None:
    log.execute(
        b"""
        DELETE FROM counterfoil.events
         WHERE type = 'fulfillment.requested' AND data->>'operation' = 'disable'
           AND data->>'order' IS NOT NULL
        """
    )
    book.execute("UPDATE users SET status = 'ACTIVE'")


def _window(diary: Diary) -> Window:
    assert diary.window is not None
    return diary.window


CUSTOMERS = "customers: one panel user"
CHANGED = "customers whom operators changed"
BACK = "writes that never take an older state back"
COMMANDS = "operators' commands"
EDITS = "edits at the panel"
WINDOW = "maintenance on record"
BEGUN = "claims in the window"
MEANWHILE = "orders settled while"
HELD = "jobs held by the gate"

LIES: dict[str, tuple[Lie, str]] = {
    "an order is not settled": (_one_order_more, "orders fulfilled"),
    "an order is another customer's": (_another_customer, "orders fulfilled"),
    "an order is worth less": (_more_days, "customers"),
    "an order is paid for ever": (
        in_log(
            """
            UPDATE counterfoil.orders SET state = 'paid', fulfilled_by = NULL
             WHERE order_id = 'cdnow:1'
            """
        ),
        "orders fulfilled",
    ),
    "a user is gone": (in_book("DELETE FROM users WHERE id = 1"), CUSTOMERS),
    "an expiry is off by milliseconds": (
        of_the_living(
            """
            UPDATE users SET expire_at = substr(expire_at, 1, 20) || '999Z'
             WHERE id = (SELECT min(id) FROM users JOIN living USING (username)
                          WHERE expire_at NOT LIKE '%.999Z')
            """
        ),
        "customers",
    ),
    "a user has a limit": (
        of_the_living(
            """
            UPDATE users SET hwid_device_limit = 4
             WHERE id = (SELECT min(id) FROM users JOIN living USING (username))
            """
        ),
        "customers",
    ),
    "an operator's limit was lost": (
        in_book("UPDATE users SET traffic_limit_bytes = 0 WHERE hwid_device_limit = 3"),
        CHANGED,
    ),
    "an operator's squads were lost": (
        in_book("UPDATE users SET squads = '[]' WHERE squads LIKE '%,%'"),
        CHANGED,
    ),
    "a paused user is on": (
        in_book("UPDATE users SET status = 'ACTIVE' WHERE status = 'DISABLED'"),
        CHANGED,
    ),
    "an extension was shorter": (_asked_for_less, CHANGED),
    "traffic was not reset": (
        in_book(
            """
            UPDATE users SET document = json_set(document, '$.used_traffic_bytes', 7)
             WHERE id IN (SELECT user_id FROM requests
                           WHERE path LIKE '%reset-traffic')
            """
        ),
        CHANGED,
    ),
    "a customer was changed, and nobody had asked": (_nobody_asked, CUSTOMERS),
    "an operator's change was taken back on the way": (
        in_book(
            """
            INSERT INTO requests (received_at, request_id, method, path, body, user_id,
                                  username, status, applied, effect, answered)
            SELECT received_at, replace(request_id, '.1.', '.1.9'), method, path, body,
                   user_id, username, status, 1, effect, 1
              FROM requests AS first
             WHERE method = 'POST' AND path = '/api/users' AND applied = 1
               AND username IN (SELECT username FROM users WHERE hwid_device_limit = 3)
            """
        ),
        BACK,
    ),
    "a command has no reason": (
        in_log(
            """
            UPDATE counterfoil.events SET meta = meta - 'reason'
             WHERE type = 'fulfillment.requested' AND meta->'actor'->>'id' = 'anna'
            """
        ),
        COMMANDS,
    ),
    "a command was somebody else's": (
        in_log(
            """
            UPDATE counterfoil.events
               SET meta = jsonb_set(meta, '{actor,id}', '"eve"')
             WHERE type = 'fulfillment.requested' AND meta->'actor'->>'id' = 'anna'
            """
        ),
        COMMANDS,
    ),
    "a command was never carried out": (
        in_log(
            """
            UPDATE counterfoil.operations SET state = 'failed', code = 'lost'
             WHERE operation = 'reconcile'
            """
        ),
        COMMANDS,
    ),
    "a refusal is not on record": (
        in_log(
            """
            DELETE FROM counterfoil.events WHERE type = 'operator.action_refused'
            """
        ),
        COMMANDS,
    ),
    "a refund has no reason": (
        in_log(
            """
            UPDATE counterfoil.events SET data = jsonb_set(data, '{reason}', '"none"')
             WHERE type = 'order.refunded'
            """
        ),
        COMMANDS,
    ),
    "a refund has taken nothing back": (
        _no_refund_took_effect,
        "customers: one panel user",
    ),
    "nobody had asked for a refund": (_nobody_refunded, "orders fulfilled"),
    "a drift was not detected": (
        in_log(
            """
            DELETE FROM counterfoil.events WHERE position = (
                SELECT min(position) FROM counterfoil.events
                 WHERE type = 'entitlement.drift_detected')
            """
        ),
        EDITS,
    ),
    "a drift stays open": (
        in_log(
            """
            DELETE FROM counterfoil.events WHERE position = (
                SELECT min(position) FROM counterfoil.events
                 WHERE type = 'entitlement.drift_resolved')
            """
        ),
        EDITS,
    ),
    "a drift says something else": (
        in_log(
            """
            UPDATE counterfoil.events SET data = jsonb_set(data, '{observed}', '7')
             WHERE type = 'entitlement.drift_detected'
            """
        ),
        EDITS,
    ),
    "a drift was detected, and nobody had edited": (_nobody_edited, EDITS),
    "a window has no reason": (
        in_log(
            """
            UPDATE counterfoil.events SET meta = meta - 'reason'
             WHERE type = 'maintenance.opened'
            """
        ),
        WINDOW,
    ),
    "a window was never closed": (
        in_log("DELETE FROM counterfoil.events WHERE type = 'maintenance.closed'"),
        WINDOW,
    ),
    "a window says nothing in Russian": (
        in_log(
            """
            UPDATE counterfoil.events SET data = data - 'notice_ru'
             WHERE type = 'maintenance.opened'
            """
        ),
        WINDOW,
    ),
    "attempts began while the gate was closed": (_longer_closed, BEGUN),
    "a request was sent while the gate was closed": (_a_request_in_between, BEGUN),
    "fewer orders were settled in the window": (_more_settled, MEANWHILE),
    "an order of the window is not over": (
        in_log(
            """
            UPDATE counterfoil.orders SET state = 'paid', fulfilled_by = NULL
             WHERE state = 'fulfilled'
            """
        ),
        MEANWHILE,
    ),
    "a held job has left no trace": (_more_held, HELD),
    "a job was held twice": (
        in_log(
            """
            INSERT INTO counterfoil.events
                   (position, tenant_id, stream_id, version, type, schema, data, meta)
            SELECT position + 1000000000, tenant_id, stream_id, version + 1000, type,
                   schema, data, meta
              FROM counterfoil.events
             WHERE type = 'job.parked' AND data->>'gate' = 'panel'
            """
        ),
        HELD,
    ),
    "a held job was never due again": (
        in_log(
            """
            DELETE FROM counterfoil.events WHERE position = (
                SELECT min(position) FROM counterfoil.events
                 WHERE type = 'job.unparked')
            """
        ),
        HELD,
    ),
    "a held job is due in an hour": (
        in_log(
            """
            UPDATE counterfoil.events
               SET data = jsonb_build_object(
                       'run_at', recorded_at + interval '1 hour')
             WHERE type = 'job.unparked'
            """
        ),
        HELD,
    ),
    "a held job has spent an attempt": (
        in_log(
            """
            UPDATE counterfoil.events AS claimed
               SET data = jsonb_set(claimed.data, '{attempt}', '7')
              FROM counterfoil.events AS unparked
             WHERE claimed.type = 'job.claimed' AND unparked.type = 'job.unparked'
               AND unparked.stream_id = claimed.stream_id
               AND unparked.version = claimed.version - 1
            """
        ),
        HELD,
    ),
    "a held job tells too much": (
        in_log(
            """
            UPDATE counterfoil.events AS more
               SET version = parked.version + 1, type = 'job.snoozed'
              FROM counterfoil.events AS parked
             WHERE parked.type = 'job.parked' AND parked.data->>'gate' = 'panel'
               AND more.stream_id = parked.stream_id AND more.type = 'job.unparked'
            """
        ),
        HELD,
    ),
    "an operation does not know that it was held": (
        in_log(
            """
            DELETE FROM counterfoil.events
             WHERE type = 'fulfillment.parked'
               AND data->>'cause' = 'maintenance_active'
            """
        ),
        HELD,
    ),
    "a request does not say who asked": (
        in_book("UPDATE requests SET request_id = 'somebody' WHERE seq = 1"),
        "requests that name",
    ),
    "somebody's requests are nobody's": (_nobody_tried, "requests that name"),
    "a call was applied twice": (
        in_book(
            """
            INSERT INTO requests (received_at, request_id, method, path, body, status,
                                  applied, effect, answered)
            SELECT received_at, request_id, method, path, body, status, 1, effect, 1
              FROM requests WHERE applied = 1 LIMIT 1
            """
        ),
        "calls of an attempt",
    ),
    "a write belongs to no attempt": (
        in_book(
            """
            UPDATE requests SET request_id = replace(request_id, '.1.', '.77.')
             WHERE seq = (SELECT min(seq) FROM requests
                           WHERE applied = 1 AND request_id LIKE '%.1._')
            """
        ),
        "applied writes",
    ),
    "nothing was applied": (
        in_book("UPDATE requests SET applied = 0, effect = NULL WHERE applied = 1"),
        "succeeded operations",
    ),
    "an attempt is not on record": (
        in_log(
            """
            DELETE FROM counterfoil.events WHERE position = (
                SELECT min(position) FROM counterfoil.events
                 WHERE type = 'fulfillment.attempt_started')
            """
        ),
        "attempts in the book",
    ),
    "a job died without a word": (
        in_log(
            """
            INSERT INTO counterfoil.jobs_dead
                   (stream_id, tenant_id, version, state, kind, queue, priority, run_at,
                    attempt, parkings, serial_order, code, correlation_id, args)
            SELECT stream_id, tenant_id, 9, 'discarded', 'order_fanout', 'critical', 1,
                   counterfoil.now(), 1, 0, 0, '', correlation_id, '{}'
              FROM counterfoil.orders LIMIT 1
            """
        ),
        "dead letters",
    ),
}
