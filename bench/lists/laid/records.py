"""Operations, orders, entitlements, drifts and the audit of one great installation."""

from typing import Final

from bench.lists.rows import STREAM, TENANT, dice, one_of, other, rarely, skewed

_CORRELATION: Final = f"{other(3, 2)}::text"
_DAYS_AHEAD: Final = f"at + {dice(8, 400)} * interval '1 day'"

OPERATIONS: Final = {
    "stream_id": STREAM,
    "tenant_id": TENANT,
    "state": skewed(
        4, succeeded=930, cancelled=50, pending=10, retrying=5, failed=4, running=1
    ),
    "operation": skewed(
        5, create=900, reconcile=60, extend=20, set_limits=10, disable=9, pause=1
    ),
    "entitlement_id": other(6, 4),
    "order_stream_id": f"CASE WHEN {dice(7, 10)} > 0 THEN {other(8)} END",
    "desired_version": "n",
    "attempts": "1",
    "code": rarely(9, 20, one_of(10, 30, "code")),
    "effective_at": "at",
    "correlation_id": _CORRELATION,
    "created_at": "at",
    "updated_at": "at",
}

ORDERS: Final = {
    "stream_id": STREAM,
    "tenant_id": TENANT,
    "order_id": "'order ' || n",
    "customer_id": f"'customer ' || {dice(3, 200_000)}",
    "slot": "1",
    "kind": skewed(4, renewal=800, purchase=180, addon=15, downgrade=5),
    "state": skewed(5, fulfilled=980, paid=15, refunded=5),
    "currency": "'USD'",
    "amount_minor": "100",
    "discount_minor": "0",
    "correlation_id": _CORRELATION,
    "created_at": "at",
    "updated_at": "at",
}

ENTITLEMENTS: Final = {
    "stream_id": STREAM,
    "tenant_id": TENANT,
    "customer_id": "'customer ' || n / 2",
    "slot": "1 + n % 2",
    "username": "'user ' || n",
    "state": skewed(4, live=985, disabled=10, paused=5),
    "desired_version": "1",
    "planned_ends_at": _DAYS_AHEAD,
    "grace_seconds": "0",
    "squads": "1",
    "drifts": "'{}'",
    "correlation_id": _CORRELATION,
    "created_at": "at",
    "updated_at": "at",
}

DRIFTS: Final = {
    "stream_id": other(3, 2),
    "kind": "CASE WHEN n % 2 = 0 THEN 'status' ELSE "
    + skewed(4, expire_at=700, traffic=250, squads=49, missing=1)
    + " END",
    "tenant_id": TENANT,
    "state": skewed(5, resolved=995, open=5),
    "expected": "'{}'",
    "observed": "'{}'",
    "episodes": "1",
    "position": "n",
    "detected_at": "at",
    "refreshed_at": "at",
    "correlation_id": _CORRELATION,
    "created_at": "at",
    "updated_at": "at",
}

_IS_WHOLE: Final = "(n % 2 = 0)"
"""Each action has one part, in the same commit."""
_CATEGORY: Final = skewed(12, system=950, financial=50)
_FIGURES: Final = """'{"job": {"state": "dead", "attempts": 3}}'::jsonb"""

AUDIT: Final = {
    "position": "n",
    "stream_id": STREAM,
    "tenant_id": TENANT,
    "recorded_at": "at",
    "actor_type": "'operator'",
    "actor_id": f"coalesce({rarely(3, 10, one_of(4, 50, 'op'))}, 'ann')",
    "action": skewed(5, retry=600, cancel=300, operate=90, maintenance=9, projection=1),
    "target": f"'target ' || {dice(6, 300_000)}",
    "outcome": skewed(7, accepted=950, refused=50),
    "correlation_id": _CORRELATION,
    "commit_id": other(10, 2),
    "role": skewed(11, operator=900, admin=100),
    "category": f"CASE WHEN {_IS_WHOLE} THEN {_CATEGORY} END",
    "is_part": f"NOT {_IS_WHOLE}",
    "before": f"CASE WHEN {_IS_WHOLE} THEN {_FIGURES} END",
    "after": f"CASE WHEN {_IS_WHOLE} THEN {_FIGURES} END",
}

DELIVERIES: Final = {
    "stream_id": STREAM,
    "tenant_id": TENANT,
    "state": skewed(
        4,
        delivered=930,
        refunded=40,
        pending=10,
        submitted=8,
        needs_review=10,
        failed=2,
    ),
    "order_stream_id": other(5, 2),
    "order_id": "'order ' || n / 2",
    "customer_id": f"'customer ' || {dice(6, 200_000)}",
    "line": "1 + n % 2",
    "provider": skewed(7, stars=900, premium=99, other=1),
    "product": skewed(8, telegram_stars=900, telegram_premium=100),
    "quantity": "1",
    "currency": "'USD'",
    "cost_minor": "80",
    "price_minor": "100",
    "paid_minor": "100",
    "purchases": "1",
    "decision": "1",
    "standing": "'none'",
    "withdraws_to": "'none'",
    "code": rarely(9, 20, one_of(10, 30, "code")),
    "is_doubtful": "false",
    "correlation_id": _CORRELATION,
    "created_at": "at",
    "updated_at": "at",
}
