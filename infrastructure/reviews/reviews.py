"""What people have said in the streams of deliveries, the latest of it."""

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from application.operators.deliveries.decide import DecideReview
from application.operators.deliveries.found import Decision
from application.unit import UnitOfWork
from domain.goods.events import DecisionProposed, ReviewDecided
from infrastructure.ids import new_id
from infrastructure.postgres.batch_store import Connections
from infrastructure.postgres.codec import decode_event, decode_meta
from infrastructure.postgres.heads.table import instant, number, text
from infrastructure.postgres.streams import PostgresStreams

_LAST: Final = """
SELECT type, schema, data::text, meta::text, recorded_at
  FROM counterfoil.events
 WHERE stream_id = %(id)s
   AND type = %(type)s
 ORDER BY version DESC
 LIMIT 1
"""


_MISSING: Final = """
SELECT digest
  FROM unnest(%(digests)s::text[]) AS digest
 WHERE NOT EXISTS (
       SELECT 1 FROM counterfoil.delivery_evidence
        WHERE delivery_id = %(id)s AND sha256 = decode(digest, 'hex'))
"""


class PostgresReviews:
    """Reads over pooled connections, each statement by itself."""

    def __init__(self, connections: Connections) -> None:
        """Take the connections that every read borrows from."""
        self._connections = connections

    def last_decision(self, delivery: UUID) -> Decision | None:
        """See `Reviews.last_decision`."""
        return self._last(delivery, ReviewDecided.tag)

    def missing_evidence(
        self, delivery: UUID, digests: Sequence[str]
    ) -> tuple[str, ...]:
        """See `Reviews.missing_evidence`."""
        wanted = {"id": delivery, "digests": list(digests)}
        with self._connections.connection() as connection:
            rows = connection.execute(_MISSING, wanted).fetchall()
        return tuple(text(digest) for (digest,) in rows)

    def last_proposal(self, delivery: UUID) -> Decision | None:
        """See `Reviews.last_proposal`."""
        return self._last(delivery, DecisionProposed.tag)

    def _last(self, delivery: UUID, tag: str) -> Decision | None:
        with self._connections.connection() as connection:
            row = connection.execute(_LAST, {"id": delivery, "type": tag}).fetchone()
        if row is None:
            return None
        event = decode_event(text(row[0]), number(row[1]), text(row[2]))
        if not isinstance(event, ReviewDecided | DecisionProposed):
            return None
        return Decision(
            verdict=event.verdict,
            evidence=event.evidence,
            by=decode_meta(text(row[3])).actor,
            at=instant(row[4]),
        )


def decide_over(
    connections: Connections, units: UnitOfWork, *, four_eyes: bool
) -> DecideReview:
    """Return what decides reviews on behalf of people, over one database."""
    return DecideReview(
        streams=PostgresStreams(connections),
        reviews=PostgresReviews(connections),
        units=units,
        ids=new_id,
        four_eyes=four_eyes,
    )
