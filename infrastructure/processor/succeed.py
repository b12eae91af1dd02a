"""Succeed many jobs at once: the set-based twin of the decider's `Completed`.

Only jobs that are held by their token and that nobody wants cancelled are taken;
what does not come back was fenced, or needs the decider.  A property test holds the
rows that this statement writes to what `domain.jobs.verdict.settle` returns.
"""

from collections.abc import Sequence
from typing import Final
from uuid import UUID

import msgspec

from domain.event import Actor, JsonObject
from infrastructure.postgres.arrays import IntArray, UuidArray
from infrastructure.postgres.database import Connection, transaction

_SUCCEED: Final = """
WITH ended AS (
    SELECT h.stream_id, t.result, t.message_id, t.n
      FROM (SELECT *
              FROM unnest(%(ids)b::uuid[], %(tokens)b::int[], %(results)b::text[],
                          %(message_ids)b::uuid[])
                   WITH ORDINALITY AS u(stream_id, token, result, message_id, n)
             ORDER BY u.stream_id) t
     CROSS JOIN LATERAL (
        -- One look at the key each, in the order of the ids: the order of the locks.
        SELECT j.stream_id
          FROM counterfoil.jobs j
         WHERE j.stream_id = t.stream_id
           AND j.token = t.token
           AND j.state = 'running'
           AND NOT j.cancel_requested
           FOR UPDATE) h
), gone AS (
    DELETE FROM counterfoil.jobs j
     -- An array, not a join: a join may be planned as a scan of the whole table.
     WHERE j.stream_id = ANY (ARRAY(SELECT stream_id FROM ended))
    RETURNING j.stream_id, j.tenant_id, j.kind, j.version, j.attempt, j.token,
              j.correlation_id
), freed AS (
    DELETE FROM counterfoil.running_keys r
     WHERE r.job_id = ANY (ARRAY(SELECT stream_id FROM gone))
), logged AS (
    INSERT INTO counterfoil.events
           (tenant_id, stream_id, version, type, schema, data, meta)
    SELECT tenant_id, stream_id, version + 1, 'job.succeeded', 1,
           (SELECT to_jsonb(data)
              FROM (SELECT attempt, token, result::jsonb AS result) data),
           (SELECT to_jsonb(meta)
              FROM (SELECT %(actor)s::jsonb AS actor, correlation_id,
                           (SELECT to_jsonb(causation)
                              FROM (SELECT stream_id AS job, token) causation)
                           AS causation,
                           %(commit_id)s::text AS commit_id) meta)
      FROM gone
      JOIN ended USING (stream_id)
     ORDER BY n
    RETURNING position, stream_id
), told AS (
    INSERT INTO counterfoil.outbox
           (id, position, tenant_id, topic, stream_id, version, data)
    SELECT e.message_id, l.position, g.tenant_id, 'job.succeeded', g.stream_id,
           g.version + 1,
           (SELECT to_jsonb(data)
              FROM (SELECT g.stream_id AS job_id, g.kind, g.attempt,
                           NULL::text AS code) data)
      FROM gone g
      JOIN ended e ON e.stream_id = g.stream_id
      JOIN logged l ON l.stream_id = g.stream_id
)
SELECT n FROM ended
"""


_DONE_BEFORE: Final = """
SELECT u.n
  FROM unnest(%(ids)b::uuid[]) WITH ORDINALITY AS u(stream_id, n)
  JOIN counterfoil.events e ON e.stream_id = u.stream_id
 WHERE e.type = 'job.succeeded'
   AND e.meta->>'commit_id' = %(commit_id)s
"""


class Success(msgspec.Struct, frozen=True):
    """One finished claim: its job, its token and what the handler reported."""

    job_id: UUID
    token: int
    result: JsonObject | None


class Stamp(msgspec.Struct, frozen=True):
    """Who succeeds a batch, and in which unit of work."""

    actor: Actor
    commit_id: UUID
    is_in_doubt: bool = False
    """The unit was tried before, and its answer was lost."""


def succeed(
    connection: Connection, successes: Sequence[Success], stamp: Stamp
) -> list[bool]:
    """Return of each job whether this unit of work has succeeded it, now or before.

    Raises:
        CommitUnknownError: the connection ended during COMMIT.
        DatabaseUnavailableError: it ended before; nothing was committed.
        psycopg.Error: a result cannot be stored; nothing was committed.
        UnicodeEncodeError: a result holds a lone surrogate; nothing was sent.
    """
    parameters = {
        "ids": UuidArray.of([each.job_id for each in successes]),
        "tokens": IntArray([each.token for each in successes]),
        "results": _results(successes),
        "message_ids": UuidArray.new(len(successes)),
        "actor": msgspec.json.encode(stamp.actor).decode(),
        "commit_id": str(stamp.commit_id),
    }
    with transaction(connection, keyed=True):
        rows = connection.execute(
            _SUCCEED, parameters, prepare=True, binary=True
        ).fetchall()
        if stamp.is_in_doubt:
            # The statement has waited for the backend whose answer was lost, so
            # what that one committed is seen now (mechanisms 10).
            rows += connection.execute(_DONE_BEFORE, parameters).fetchall()
    # What this very transaction has written is found by both statements.
    done = {row[0] for row in rows}
    return [n in done for n in range(1, len(successes) + 1)]


def _results(successes: Sequence[Success]) -> list[str | None] | None:
    """Return the results as JSON texts; None when nobody has any."""
    if all(each.result is None for each in successes):
        return None
    return [
        None if each.result is None else msgspec.json.encode(each.result).decode()
        for each in successes
    ]
