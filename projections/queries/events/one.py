"""One event, whole: what it holds is told to those alone whose look is on record."""

from dataclasses import dataclass
from typing import Final

import msgspec
from psycopg.rows import scalar_row

from domain.event import JsonObject
from projections.connections import Lend
from projections.log_event import COLUMNS, LogEvent, read_events

_ONE: Final = (
    COLUMNS
    + """
 WHERE e.position = %(position)s
   AND e.tenant_id = %(tenant_id)s
   AND e.position <= %(horizon)s
"""
)
_HORIZON: Final = "SELECT counterfoil.horizon()"
_PAYLOAD: Final = """
SELECT e.data::text
  FROM counterfoil.events e
 WHERE e.position = %(position)s
   AND e.tenant_id = %(tenant_id)s
"""

_json = msgspec.json.Decoder(dict[str, object])


@dataclass(frozen=True, slots=True)
class OneEvent:
    """Tells one event of a tenant."""

    lend: Lend

    def __call__(self, position: int, tenant_id: str) -> LogEvent | None:
        """Return an event; None: the tenant has none at that position."""
        given: dict[str, object] = {"position": position, "tenant_id": tenant_id}
        with self.lend() as connection:
            with connection.cursor(row_factory=scalar_row) as cursor:
                given["horizon"] = cursor.execute(_HORIZON).fetchone()
            found = read_events(connection, _ONE, given)
        return found[0] if found else None

    def payload(self, position: int, tenant_id: str) -> JsonObject:
        """Return what an event holds; to be asked when the look is on record."""
        given = {"position": position, "tenant_id": tenant_id}
        with (
            self.lend() as connection,
            connection.cursor(row_factory=scalar_row) as cursor,
        ):
            told: str = cursor.execute(_PAYLOAD, given).fetchone() or "{}"
        try:
            return _json.decode(told)
        except (msgspec.DecodeError, RecursionError):
            return {"unreadable": len(told)}
