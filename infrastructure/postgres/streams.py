"""Reads heads and births for decisions; never a read model (see `Streams`)."""

from collections.abc import Sequence
from typing import Final
from uuid import UUID

import msgspec

from application.operators.target import LastEvent
from application.ports import OperationRow, OrderKeys, SettledOrder
from application.unit import Head
from domain.event import Instant, JsonObject
from domain.maintenance.gates import ALL
from domain.stream import Ref, StreamKind
from infrastructure.postgres.batch_store import Connections
from infrastructure.postgres.heads.deliveries import deliveries_of
from infrastructure.postgres.heads.entitlements import ENTITLEMENTS
from infrastructure.postgres.heads.entitlements import head_of as entitlement_head
from infrastructure.postgres.heads.jobs import READ_DEAD
from infrastructure.postgres.heads.jobs import head_of as job_head
from infrastructure.postgres.heads.positions import last_of_streams
from infrastructure.postgres.heads.settled import order_keys, settled_order
from infrastructure.postgres.heads.table import (
    instant,
    maybe_uuid,
    number,
    text,
    uuid,
)
from infrastructure.postgres.locking import TABLES

_ENTITLEMENT_OF: Final = """
SELECT stream_id
  FROM counterfoil.entitlements
 WHERE tenant_id = %(tenant_id)s
   AND customer_id = %(customer_id)s
   AND slot = %(slot)s
"""

_HAS_LEGACY_USERNAME: Final = """
SELECT 1
  FROM counterfoil.entitlements
 WHERE legacy_username = %(name)s
"""

_OPERATIONS_OF: Final = """
SELECT p.stream_id, p.order_stream_id, p.operation, p.desired_version, p.state,
       p.effective_at, coalesce((p.desired->>'reset_traffic')::boolean, false),
       coalesce(o.state <> 'paid', false), p.covered_by
  FROM counterfoil.operations p
  LEFT JOIN counterfoil.orders o ON o.stream_id = p.order_stream_id
 WHERE p.entitlement_id = %(id)s
   AND p.operation <> 'reconcile'
 ORDER BY p.desired_version
"""

_OPERATION_WITH_KEY: Final = """
SELECT stream_id
  FROM counterfoil.operations
 WHERE tenant_id = %(tenant_id)s
   AND idempotency_key = %(key)s
"""

_CLOSED_GATE: Final = """
SELECT cause
  FROM counterfoil.gates
 WHERE gate IN (%(gate)s, %(all)s)
 ORDER BY since
 LIMIT 1
"""

_NOW: Final = "SELECT counterfoil.now()"

_LIVE_JOB: Final = """
SELECT stream_id
  FROM counterfoil.jobs
 WHERE tenant_id = %(tenant_id)s
   AND unique_key = %(key)s
"""

_DEAD_JOB: Final = """
SELECT stream_id
  FROM counterfoil.jobs_dead
 WHERE tenant_id = %(tenant_id)s
   AND unique_key = %(key)s
 ORDER BY died_at DESC
 LIMIT 1
"""

_ARGS: Final = """
SELECT args::text FROM counterfoil.jobs WHERE stream_id = %(id)s
UNION ALL
SELECT args::text FROM counterfoil.jobs_dead WHERE stream_id = %(id)s
"""

_LAST_EVENT: Final = """
SELECT type, tenant_id, meta->>'correlation_id'
  FROM counterfoil.events
 WHERE stream_id = %(id)s
 ORDER BY version DESC
 LIMIT 1
"""

_args = msgspec.json.Decoder(dict[str, object])


class PostgresStreams:
    """Reads over pooled connections, each statement by itself."""

    def __init__(self, connections: Connections) -> None:
        """Take the connections that every read borrows from."""
        self._connections = connections

    def order(self, stream_id: UUID) -> SettledOrder | None:
        """See `Streams.order`."""
        with self._connections.connection() as connection:
            return settled_order(connection, stream_id)

    def order_keys(self, tenant_id: str, order_id: str) -> OrderKeys:
        """See `Streams.order_keys`."""
        with self._connections.connection() as connection:
            return order_keys(connection, tenant_id, order_id)

    def head(self, ref: Ref) -> Head | None:
        """See `Streams.head`."""
        table = TABLES[ref.kind]
        with self._connections.connection() as connection:
            row = connection.execute(table.read, {"ids": [ref.id]}).fetchone()
            if row is not None:
                return table.head(row)[1]
            if ref.kind is not StreamKind.JOB:
                return None
            row = connection.execute(READ_DEAD, {"ids": [ref.id]}).fetchone()
        return None if row is None else job_head(row)[1]

    def entitlement_of(
        self, tenant_id: str, customer_id: str, slot: int
    ) -> tuple[Ref, Head] | None:
        """See `Streams.entitlement_of`."""
        key = {"tenant_id": tenant_id, "customer_id": customer_id, "slot": slot}
        with self._connections.connection() as connection:
            found = connection.execute(_ENTITLEMENT_OF, key).fetchone()
            if found is None:
                return None
            row = connection.execute(ENTITLEMENTS.read, {"ids": [found[0]]}).fetchone()
        if row is None:
            return None
        stream_id, head = entitlement_head(row)
        return Ref(StreamKind.ENTITLEMENT, stream_id), head

    def has_legacy_username(self, legacy_username: str) -> bool:
        """See `Streams.has_legacy_username`."""
        name = {"name": legacy_username}
        with self._connections.connection() as connection:
            return connection.execute(_HAS_LEGACY_USERNAME, name).fetchone() is not None

    def operations_of(self, entitlement: UUID) -> Sequence[OperationRow]:
        """See `Streams.operations_of`."""
        with self._connections.connection() as connection:
            rows = connection.execute(_OPERATIONS_OF, {"id": entitlement}).fetchall()
        return [
            OperationRow(
                ref=Ref(StreamKind.OPERATION, uuid(row[0])),
                order=maybe_uuid(row[1]),
                operation=text(row[2]),
                desired_version=number(row[3]),
                state=text(row[4]),
                effective_at=instant(row[5]),
                reset_traffic=bool(row[6]),
                order_fulfilled=bool(row[7]),
                covered_by=maybe_uuid(row[8]),
            )
            for row in rows
        ]

    def deliveries_of(self, order: UUID) -> Sequence[tuple[Ref, Head]]:
        """See `Streams.deliveries_of`."""
        with self._connections.connection() as connection:
            return deliveries_of(connection, order)

    def operation_with_key(self, tenant_id: str, key: str) -> tuple[Ref, Head] | None:
        """See `Streams.operation_with_key`."""
        named = {"tenant_id": tenant_id, "key": key}
        with self._connections.connection() as connection:
            row = connection.execute(_OPERATION_WITH_KEY, named).fetchone()
        ref = None if row is None else Ref(StreamKind.OPERATION, uuid(row[0]))
        head = None if ref is None else self.head(ref)
        return None if ref is None or head is None else (ref, head)

    def closed_gate(self, gate: str) -> str | None:
        """See `Streams.closed_gate`."""
        asked = {"gate": gate, "all": ALL}
        with self._connections.connection() as connection:
            row = connection.execute(_CLOSED_GATE, asked).fetchone()
        return None if row is None else text(row[0])

    def clock(self) -> Instant:
        """See `Streams.clock`."""
        with self._connections.connection() as connection:
            row = connection.execute(_NOW).fetchone()
        if row is None:
            msg = "the database did not tell its time"
            raise TypeError(msg)
        return instant(row[0])

    def live_job_with_key(self, tenant_id: str, unique_key: str) -> Ref | None:
        """See `Streams.live_job_with_key`."""
        key = {"tenant_id": tenant_id, "key": unique_key}
        with self._connections.connection() as connection:
            row = connection.execute(_LIVE_JOB, key).fetchone()
        return None if row is None else Ref(StreamKind.JOB, uuid(row[0]))

    def dead_job_with_key(self, tenant_id: str, unique_key: str) -> Ref | None:
        """See `Streams.dead_job_with_key`."""
        key = {"tenant_id": tenant_id, "key": unique_key}
        with self._connections.connection() as connection:
            row = connection.execute(_DEAD_JOB, key).fetchone()
        return None if row is None else Ref(StreamKind.JOB, uuid(row[0]))

    def job_args(self, job: UUID) -> JsonObject | None:
        """See `Streams.job_args`."""
        with self._connections.connection() as connection:
            row = connection.execute(_ARGS, {"id": job}).fetchone()
        if row is None:
            return None
        try:
            return _args.decode(text(row[0]))
        except (msgspec.DecodeError, RecursionError):
            # Somebody has put in what no kind takes: it names nothing.
            return {}

    def last_event(self, stream_id: UUID) -> LastEvent | None:
        """See `application.operators.target.History.last_event`."""
        with self._connections.connection() as connection:
            row = connection.execute(_LAST_EVENT, {"id": stream_id}).fetchone()
        if row is None:
            return None
        return LastEvent(
            tag=text(row[0]), tenant_id=text(row[1]), correlation_id=text(row[2])
        )

    def last_position(self, streams: Sequence[UUID]) -> int:
        """See `Streams.last_position`."""
        with self._connections.connection() as connection:
            return last_of_streams(connection, streams)
