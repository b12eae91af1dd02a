"""Attempts: jobs of three changes each, nearly all of which end well at once."""

from typing import Final

from bench.lists.rows import TENANT, dice

_JOB: Final = "(n / 3)"
_CHANGE: Final = "(n % 3)"
_FAILS: Final = f"{dice(4, 50)} = 0"

ATTEMPTS: Final = {
    "stream_id": f"md5('job ' || {_JOB})::uuid",
    "version": f"{_CHANGE} + 1",
    "tenant_id": TENANT,
    "stream_kind": "'job'",
    "position": "n",
    "type": f"""CASE {_CHANGE} WHEN 0 THEN 'job.enqueued' WHEN 1 THEN 'job.claimed'
        ELSE CASE WHEN {_FAILS} THEN 'job.discarded' ELSE 'job.succeeded' END END""",
    "status": f"""CASE {_CHANGE} WHEN 0 THEN 'waiting' WHEN 1 THEN 'running'
        ELSE CASE WHEN {_FAILS} THEN 'discarded' ELSE 'succeeded' END END""",
    "attempt": f"CASE WHEN {_CHANGE} > 0 THEN 1 END",
    "code": f"CASE WHEN {_CHANGE} = 2 AND {_FAILS} THEN 'permanent' END",
    "correlation_id": f"'order:' || {_JOB} / 2",
    "recorded_at": "at",
    "actor_type": "'worker'",
    "actor_id": "'somewhere'",
    "token": f"CASE WHEN {_CHANGE} > 0 THEN 2 END",
}
