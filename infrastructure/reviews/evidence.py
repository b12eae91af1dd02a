"""Which files belong to which delivery (see `EvidenceBook`)."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final
from uuid import UUID

from application.evidence.add import AddEvidence
from application.evidence.look import LookAtEvidence
from application.evidence.port import Evidence, Kept, Telling
from application.unit import UnitOfWork
from domain.event import Meta
from infrastructure.ids import new_id
from infrastructure.postgres.batch_store import Connections
from infrastructure.postgres.database import Connection
from infrastructure.postgres.heads.table import instant, number, text, uuid
from infrastructure.postgres.streams import PostgresStreams
from infrastructure.recording.recorded import Turn, recorded
from infrastructure.reviews.files import FolderOfEvidence

_INSERT: Final = """
INSERT INTO counterfoil.delivery_evidence
       (tenant_id, delivery_id, sha256, size_bytes, media_type, added_by)
VALUES (%(tenant_id)s, %(delivery)s, %(sha256)b, %(size)s, %(media_type)s, %(by)s)
ON CONFLICT (delivery_id, sha256) DO NOTHING
RETURNING 1
"""
_READ: Final = """
SELECT tenant_id, delivery_id, encode(sha256, 'hex'), size_bytes, media_type, added_by,
       added_at
  FROM counterfoil.delivery_evidence
 WHERE tenant_id = %(tenant_id)s
   AND delivery_id = %(delivery)s
   AND sha256 = %(sha256)b
"""


class PostgresEvidenceBook:
    """Keeps rows over pooled connections."""

    def __init__(self, connections: Connections) -> None:
        """Take the connections to borrow."""
        self._connections = connections

    def add(self, evidence: Evidence, told: Telling, meta: Meta) -> Kept:
        """See `EvidenceBook.add`."""
        row = {
            "tenant_id": evidence.tenant_id,
            "delivery": evidence.delivery,
            "sha256": evidence.sha256,
            "size": evidence.size_bytes,
            "media_type": evidence.media_type,
            "by": evidence.added_by,
        }

        def lock(connection: Connection) -> bool:
            return connection.execute(_INSERT, row).fetchone() is not None

        def make(turn: Turn[Kept], is_new: bool) -> Kept:  # noqa: FBT001 - what was locked
            (kept,) = _found(turn.connection, row)
            event, tenant_id = told(is_new), evidence.tenant_id
            return turn.record(event, meta, lambda _: Kept(kept, is_new), tenant_id)

        return recorded(self._connections, lock, make)

    def find(self, tenant_id: str, delivery: UUID, sha256: bytes) -> Evidence | None:
        """See `EvidenceBook.find`."""
        row = {"tenant_id": tenant_id, "delivery": delivery, "sha256": sha256}
        with self._connections.connection() as connection:
            return next(iter(_found(connection, row)), None)


def _found(connection: Connection, asked: Mapping[str, object]) -> Sequence[Evidence]:
    """Return the file of a tenant's delivery that has the digest, if it has one."""
    rows = connection.execute(_READ, asked, binary=True).fetchall()
    return [
        Evidence(
            tenant_id=text(tenant),
            delivery=uuid(delivery),
            sha256=bytes.fromhex(text(sha256)),
            size_bytes=number(size),
            media_type=text(media),
            added_by=text(by),
            added_at=instant(at),
        )
        for tenant, delivery, sha256, size, media, by, at in rows
    ]


def evidence_over(
    connections: Connections, units: UnitOfWork, data_dir: Path
) -> AddEvidence:
    """Return what adds files on behalf of people, over one database and one folder."""
    return AddEvidence(
        streams=PostgresStreams(connections),
        files=FolderOfEvidence(data_dir),
        book=PostgresEvidenceBook(connections),
        units=units,
        ids=new_id,
    )


def look_at_evidence_over(
    connections: Connections, units: UnitOfWork, data_dir: Path
) -> LookAtEvidence:
    """Return what shows files to people, over one database and one folder."""
    return LookAtEvidence(
        streams=PostgresStreams(connections),
        files=FolderOfEvidence(data_dir),
        book=PostgresEvidenceBook(connections),
        units=units,
        ids=new_id,
    )
