"""Dead letters among all that might have become one."""

from typing import Final

from bench.lists.rows import STREAM, TENANT, dice, one_of, other, rarely, skewed

# Of 100 rows 20 are open letters, 5 were ended by somebody, the rest never died.
_LOT: Final = dice(4, 100)
_DEAD: Final = f"{_LOT} < 25"
_ENDED: Final = f"{_LOT} < 5"

LETTERS: Final = {
    "stream_id": STREAM,
    "tenant_id": TENANT,
    "stream_kind": skewed(5, operation=900, job=100),
    "state": f"CASE WHEN {_ENDED} THEN 'ended' WHEN {_DEAD} THEN 'open'"
    " ELSE 'none' END",
    "kind": skewed(6, fulfillment=900, order_fanout=89, order_refund=10, report=1),
    "queue": skewed(7, default=950, critical=40, bulk=10),
    "correlation_id": f"{other(3, 2)}::text",
    "code": f"CASE WHEN {_DEAD} THEN "
    + skewed(8, permanent=900, budget_spent=90, worker_crashed=9, deadline=1)
    + " END",
    "error_code": f"CASE WHEN {_DEAD} THEN coalesce("
    + rarely(9, 10, one_of(10, 40, "code"))
    + ", 'remnawave_http_422') END",
    "attempt": "12",
    "died_at": f"CASE WHEN {_DEAD} THEN at END",
    "ended_at": f"CASE WHEN {_ENDED} THEN at + interval '1 hour' END",
    "ended_how": f"CASE WHEN {_ENDED} THEN 'retried' END",
    "ended_by_type": f"CASE WHEN {_ENDED} THEN 'operator' END",
    "ended_by": f"CASE WHEN {_ENDED} THEN 'ann' END",
    "created_at": "at - interval '1 hour'",
    "updated_at": "at",
}
