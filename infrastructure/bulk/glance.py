"""One look at many things at once: what their previews ask for, in a few statements.

Whatever was not looked at is asked of the database as always.  Nothing is locked: a
preview promises nothing.
"""

from collections.abc import Iterable, Sequence
from typing import Final, override
from uuid import UUID

import msgspec

from application.operators.target import LastEvent
from application.unit import Head
from domain.event import JsonObject
from domain.jobs.aggregate import Job
from domain.stream import Ref, StreamKind
from infrastructure.postgres.batch_store import Connections
from infrastructure.postgres.database import Connection, transaction
from infrastructure.postgres.heads.jobs import READ_DEAD
from infrastructure.postgres.heads.jobs import head_of as job_head
from infrastructure.postgres.heads.table import text, uuid
from infrastructure.postgres.locking import TABLES
from infrastructure.postgres.streams import PostgresStreams

_ONE_MOMENT: Final = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"

_ARGS: Final = """
SELECT stream_id, args::text FROM counterfoil.jobs WHERE stream_id = ANY(%(ids)s)
UNION ALL
SELECT stream_id, args::text FROM counterfoil.jobs_dead WHERE stream_id = ANY(%(ids)s)
"""

_LIVE: Final = """
SELECT j.tenant_id, j.unique_key, j.stream_id
  FROM unnest(%(tenants)s::text[], %(keys)s::text[]) AS k(tenant_id, unique_key)
  JOIN counterfoil.jobs j USING (tenant_id, unique_key)
"""

_LAST: Final = """
SELECT s.id, l.type, l.tenant_id, l.correlation_id
  FROM unnest(%(ids)s::uuid[]) AS s (id)
 CROSS JOIN LATERAL (
    SELECT e.type, e.tenant_id, e.meta->>'correlation_id' AS correlation_id
      FROM counterfoil.events e
     WHERE e.stream_id = s.id
     ORDER BY e.version DESC
     LIMIT 1) l
"""

_RECORDS: Final = (StreamKind.OPERATION, StreamKind.DELIVERY)

_args = msgspec.json.Decoder(dict[str, object])


class Glance(PostgresStreams):
    """Streams of which some were read together."""

    def __init__(self, connections: Connections, ids: Sequence[UUID]) -> None:
        """Look at the jobs and records of these ids, and what they lead to."""
        super().__init__(connections)
        self._seen = set[Ref]()
        self._heads: dict[Ref, Head] = {}
        self._job_args: dict[UUID, JsonObject] = {}
        self._keys: dict[tuple[str, str], Ref | None] = {}
        self._ends: dict[UUID, LastEvent | None] = {}
        with (
            connections.connection() as connection,
            transaction(connection, keyed=True),
        ):
            # One moment, or a job that moves between its tables would be in neither.
            connection.execute(_ONE_MOMENT)
            self._look(connection, ids)

    def _look(self, connection: Connection, ids: Sequence[UUID]) -> None:
        self._look_at(connection, StreamKind.JOB, ids)
        for row in connection.execute(READ_DEAD, {"ids": list(ids)}):
            id_, head = job_head(row)
            self._heads[Ref(StreamKind.JOB, id_)] = head
        for row in connection.execute(_ARGS, {"ids": list(ids)}):
            self._job_args[uuid(row[0])] = _read(text(row[1]))
        served = {*ids, *_ids_in(self._job_args.values())}
        for kind in _RECORDS:
            self._look_at(connection, kind, served)
        self._look_for_twins(connection)
        lost = [id_ for id_ in ids if not self._is_known(id_)]
        self._ends = dict.fromkeys(lost)
        for row in connection.execute(_LAST, {"ids": lost}):
            self._ends[uuid(row[0])] = LastEvent(
                tag=text(row[1]), tenant_id=text(row[2]), correlation_id=text(row[3])
            )

    def _look_at(
        self, connection: Connection, kind: StreamKind, ids: Iterable[UUID]
    ) -> None:
        table, wanted = TABLES[kind], list(ids)
        self._seen.update(Ref(kind, id_) for id_ in wanted)
        for row in connection.execute(table.read, {"ids": wanted}):
            id_, head = table.head(row)
            self._heads[Ref(kind, id_)] = head

    def _look_for_twins(self, connection: Connection) -> None:
        for head in self._heads.values():
            key_ = head.state.unique_key if isinstance(head.state, Job) else None
            if key_ is not None:
                self._keys[head.tenant_id, key_] = None
        told = {
            "tenants": [tenant for tenant, _ in self._keys],
            "keys": [key for _, key in self._keys],
        }
        for tenant, key, id_ in connection.execute(_LIVE, told):
            self._keys[text(tenant), text(key)] = Ref(StreamKind.JOB, uuid(id_))

    def _is_known(self, id_: UUID) -> bool:
        kinds = (StreamKind.JOB, *_RECORDS)
        return any(Ref(kind, id_) in self._heads for kind in kinds)

    @override
    def head(self, ref: Ref) -> Head | None:
        return self._heads.get(ref) if ref in self._seen else super().head(ref)

    @override
    def job_args(self, job: UUID) -> JsonObject | None:
        found = self._job_args.get(job)
        return super().job_args(job) if found is None else found

    @override
    def live_job_with_key(self, tenant_id: str, unique_key: str) -> Ref | None:
        key = (tenant_id, unique_key)
        if key in self._keys:
            return self._keys[key]
        return super().live_job_with_key(tenant_id, unique_key)

    @override
    def last_event(self, stream_id: UUID) -> LastEvent | None:
        if stream_id in self._ends:
            return self._ends[stream_id]
        return super().last_event(stream_id)


def _read(told: str) -> JsonObject:
    try:
        return _args.decode(told)
    except (msgspec.DecodeError, RecursionError):
        # Somebody has put in what no kind takes: it names nothing.
        return {}


def _ids_in(arguments: Iterable[JsonObject]) -> Iterable[UUID]:
    """Yield what may be the ids of records that jobs serve."""
    for args in arguments:
        for value in args.values():
            if isinstance(value, str) and len(value) == len(str(UUID(int=0))):
                try:
                    yield UUID(value)
                except ValueError:
                    continue
