"""Files that people have added to a delivery, as they are on record."""

from typing import Any, Final
from uuid import UUID

import msgspec
import psycopg
from psycopg.rows import class_row

from domain.event import Instant

MOST_FILES: Final = 200

_FILES: Final = """
SELECT encode(sha256, 'hex') AS sha256, size_bytes, media_type, added_by, added_at
  FROM counterfoil.delivery_evidence
 WHERE tenant_id = %(tenant_id)s
   AND delivery_id = %(id)s
 ORDER BY added_at DESC, 1
 LIMIT %(most)s
"""


class EvidenceFile(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One file."""

    sha256: str
    size_bytes: int
    media_type: str
    """What its own bytes say."""
    added_by: str
    added_at: Instant


def read_files(
    connection: psycopg.Connection[Any], tenant_id: str, delivery: UUID
) -> tuple[EvidenceFile, ...]:
    """Return the files of a delivery, the latest first; `MOST_FILES` at most."""
    asked = {"tenant_id": tenant_id, "id": delivery, "most": MOST_FILES}
    with connection.cursor(row_factory=class_row(EvidenceFile)) as cursor:
        return tuple(cursor.execute(_FILES, asked).fetchall())
