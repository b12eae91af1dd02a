"""Jobs: nearly all have succeeded, by one of two kinds; what is dead had one kind."""

from typing import Final

from bench.lists.rows import STREAM, TENANT, dice, one_of, other, rarely, skewed

# The last 50 of 1,000 have not succeeded: 20 wait, 5 run, the rest is dead.
_LOT: Final = dice(4, 1000)
_AHEAD: Final = f"counterfoil.now() + {dice(9, 864_000)} * interval '1 s'"

JOBS: Final = {
    "stream_id": STREAM,
    "tenant_id": TENANT,
    "created_at": "at",
    "updated_at": "at",
    "correlation_id": f"{other(3, 2)}::text",
    "version": "3",
    "state": skewed(
        4, succeeded=950, waiting=20, running=5, discarded=15, cancelled=10
    ),
    "kind": f"""CASE WHEN {_LOT} >= 950 THEN 'fulfillment' ELSE """
    + skewed(5, fulfillment=600, order_fanout=349, periodic_task=50, order_refund=1)
    + " END",
    "queue": skewed(6, default=950, critical=40, bulk=10),
    "priority": "2",
    "attempt": f"CASE WHEN {dice(7, 20)} > 0 THEN 1 ELSE 1 + {dice(8, 12)} END",
    "parkings": "0",
    "run_at": f"CASE WHEN {_LOT} BETWEEN 950 AND 969 THEN {_AHEAD} ELSE at END",
    "cancel_requested": "false",
    "error_code": rarely(10, 33, one_of(11, 40, "code")),
    "owner_host": one_of(12, 3, "worker"),
    "owner_pid": "1",
    "owner_boot": f"md5('boot ' || n / 50000 || {dice(12, 3)})::uuid",
    "claimed_at": "at",
    "finished_at": f"CASE WHEN {_LOT} NOT BETWEEN 950 AND 974 THEN at END",
    "operation_id": rarely(13, 2, other(14)),
    "order_stream_id": rarely(15, 3, other(16, 2)),
    "order_id": rarely(17, 1000, "'order ' || n"),
    "delivery_id": rarely(18, 20, other(19, 2)),
}
