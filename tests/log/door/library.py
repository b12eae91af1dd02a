"""The library's side of the tests: a datastore, an environment, an opaque recorder."""

import base64
import json
from typing import Any, override
from uuid import UUID

from eventsourcing.persistence import StoredEvent
from eventsourcing.postgres import PostgresDatastore
from psycopg.conninfo import conninfo_to_dict

from infrastructure.log.appending import NewRow
from infrastructure.log.checkpoints import LogProcessRecorder
from infrastructure.log.rows import EventRow


class OpaqueRecorder(LogProcessRecorder):
    """Stores whatever bytes and topics the library's test cases come up with."""

    @override
    def _new_row(self, event: StoredEvent) -> NewRow:
        assert isinstance(event.originator_id, UUID)
        return NewRow(
            tenant_id="default",
            stream_id=event.originator_id,
            version=event.originator_version,
            tag=event.topic,
            schema=1,
            data=json.dumps({"b64": base64.b64encode(event.state).decode()}),
            meta="{}",
        )

    @override
    def _tag_of(self, topic: str) -> tuple[str, int]:
        return topic, 1

    @override
    def _topic_and_state(self, row: EventRow) -> tuple[str, bytes]:
        return row.tag, base64.b64decode(json.loads(row.data)["b64"])


def datastore_of(
    conninfo: str, *, pool_size: int = 4, overflow: int = 16
) -> PostgresDatastore:
    """Return the library's datastore over one database; the caller closes it."""
    parts: dict[str, Any] = conninfo_to_dict(conninfo)
    return PostgresDatastore(
        dbname=parts["dbname"],
        host=parts["host"],
        port=parts.get("port") or 5432,
        user=parts["user"],
        password=parts.get("password") or "",
        pool_size=pool_size,
        max_overflow=overflow,
    )


def environment_of(conninfo: str) -> dict[str, str]:
    """Return what an `Application` is told to work on our log."""
    parts: dict[str, Any] = conninfo_to_dict(conninfo)
    return {
        "PERSISTENCE_MODULE": "eventsourcing.postgres",
        "APPLICATION_RECORDER_TOPIC": "infrastructure.log.recorder:LogRecorder",
        "MAPPER_TOPIC": "infrastructure.log.mapper:StructMapper",
        "POSTGRES_DBNAME": parts["dbname"],
        "POSTGRES_HOST": parts["host"],
        "POSTGRES_PORT": str(parts.get("port") or 5432),
        "POSTGRES_USER": parts["user"],
        "POSTGRES_PASSWORD": parts.get("password") or "",
    }
