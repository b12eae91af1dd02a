"""One delivery with all that is known of it: what a person decides a review by.

Read off its head, its stream and its jobs, which are never behind.
"""

from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

import msgspec
import psycopg
from psycopg.rows import class_row, scalar_row

from domain.event import Actor, Instant
from domain.goods.events import Product
from domain.goods.state import Asking, Proposal
from projections.connections import Lend, one_snapshot
from projections.job_line import DEAD, LIVE, JobLine, read_lines
from projections.log_event import COLUMNS, LogEvent, read_events
from projections.queries.records.files import EvidenceFile, read_files

MOST_EVENTS: Final = 500

_HEAD: Final = """
SELECT stream_id AS delivery_id, tenant_id, version, state, order_stream_id, order_id,
       customer_id, line, provider, product::text AS product_json, quantity, recipient,
       currency, cost_minor, price_minor, paid_minor, refunded_minor, purchases,
       decision, standing, key, deadline, expires_at, repeat_until, reference,
       failure_class, code, next_at, deferred_code, restored_at, is_doubtful,
       senders::text AS senders_json, proposal::text AS proposal_json, correlation_id,
       counterfoil.now() AS now
  FROM counterfoil.deliveries
 WHERE stream_id = %(id)s
"""

_EVENTS: Final = (
    COLUMNS
    + """
 WHERE e.stream_id = %(id)s
 ORDER BY e.version DESC
 LIMIT %(limit)s
"""
)

_REFUSED: Final = (
    COLUMNS
    + """
 WHERE e.type = 'operator.action_refused'
   AND e.data->>'target' = %(key)s
 ORDER BY e.position DESC
 LIMIT %(limit)s
"""
)

_KEYS: Final = "('goods_delivery:' || %(id)s, 'goods_reconcile:' || %(id)s)"
_JOBS: Final = (
    "(" + LIVE + " WHERE j.tenant_id = %(tenant_id)s AND j.unique_key IN " + _KEYS + ")"
    " UNION ALL "
    "(" + DEAD + " WHERE d.tenant_id = %(tenant_id)s AND d.unique_key IN " + _KEYS + ")"
    " ORDER BY job_id"
)

# A process that beats is alive; one that said goodbye, or whose boot nobody knows, is
# not known to be dead by that alone: only its machine can tell.
_BEATS: Final = """
SELECT boot_id
  FROM counterfoil.workers
 WHERE boot_id = ANY(%(boots)s)
   AND stopped_at IS NULL
   AND beat_at > counterfoil.now() - interval '60 seconds'
"""

_product = msgspec.json.Decoder(Product)
_senders = msgspec.json.Decoder(tuple[Asking, ...])
_proposal = msgspec.json.Decoder(Proposal)


class Facts(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What of a delivery is told as it stands in its head."""

    delivery_id: UUID
    tenant_id: str
    version: int
    """What a decision is about: `deliveries decide --version`."""
    state: str
    order_stream_id: UUID
    order_id: str
    customer_id: str
    line: int
    provider: str
    quantity: int
    recipient: str
    """Whose it is at the provider: shown here alone, for whoever has to look there."""
    currency: str
    cost_minor: int
    price_minor: int
    paid_minor: int
    refunded_minor: int | None
    purchases: int
    decision: int
    standing: str
    key: str | None
    """Under which the provider was asked last."""
    deadline: Instant | None
    """When its sender gives, or gave, up waiting."""
    expires_at: Instant | None
    repeat_until: Instant | None
    reference: str | None
    failure_class: str | None
    code: str | None
    next_at: Instant | None
    deferred_code: str | None
    restored_at: Instant | None
    is_doubtful: bool
    correlation_id: str
    now: Instant


class _Head(Facts, frozen=True, kw_only=True):
    """The columns of the head that a person may see."""

    product_json: str
    senders_json: str
    proposal_json: str | None


class AtLarge(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A process that has asked the provider, and may still be about to."""

    purchase: int
    decision: int
    host: str
    pid: int
    boot: UUID
    is_heard_of: bool
    """Whether it beats; silence is no proof of its death."""


class Proposed(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What one person has proposed, and another one may agree to."""

    verdict: str
    evidence: str
    is_override: bool
    by: Actor


class Dossier(Facts, frozen=True, kw_only=True, rename="camel"):
    """One delivery, and everything that is known of it."""

    product: Product
    senders: tuple[AtLarge, ...]
    """Nothing is given back or bought again while there are any, but by an owner."""
    proposal: Proposed | None
    events: tuple[LogEvent, ...]
    """Its own, and what was refused; in the order of the log."""
    jobs: tuple[JobLine, ...]
    """Those of it that are not over, and the dead."""
    files: tuple[EvidenceFile, ...]
    """Those that people have added, the latest first."""


@dataclass(frozen=True, slots=True)
class Dossiers:
    """Tells everything of one delivery."""

    lend: Lend

    def __call__(self, delivery_id: UUID) -> Dossier | None:
        """Return what is known of a delivery; None: there is none."""
        with one_snapshot(self.lend) as connection:
            with connection.cursor(row_factory=class_row(_Head)) as cursor:
                head = cursor.execute(_HEAD, {"id": delivery_id}).fetchone()
            if head is None:
                return None
            asked: dict[str, object] = {
                "id": delivery_id,
                "key": str(delivery_id),
                "tenant_id": head.tenant_id,
                "limit": MOST_EVENTS,
            }
            events = [
                event
                for statement in (_EVENTS, _REFUSED)
                for event in read_events(connection, statement, asked)
            ]
            jobs = read_lines(connection, _JOBS, asked)
            senders = _at_large(connection, head)
            files = read_files(connection, head.tenant_id, delivery_id)
        told = {
            name: value
            for name, value in msgspec.structs.asdict(head).items()
            if not name.endswith("_json")
        }
        return Dossier(
            **told,
            product=_product.decode(head.product_json),
            senders=senders,
            proposal=_proposed(head.proposal_json),
            events=tuple(sorted(events, key=lambda event: event.position)),
            jobs=tuple(jobs),
            files=files,
        )


def _at_large(connection: psycopg.Connection[Any], head: _Head) -> tuple[AtLarge, ...]:
    senders = _senders.decode(head.senders_json)
    boots = [each.sender.boot for each in senders]
    with connection.cursor(row_factory=scalar_row) as cursor:
        beating = set(cursor.execute(_BEATS, {"boots": boots}).fetchall())
    return tuple(
        AtLarge(
            purchase=each.purchase,
            decision=each.decision,
            host=each.sender.host,
            pid=each.sender.pid,
            boot=each.sender.boot,
            is_heard_of=each.sender.boot in beating,
        )
        for each in senders
    )


def _proposed(told: str | None) -> Proposed | None:
    if told is None:
        return None
    proposal = _proposal.decode(told)
    return Proposed(
        verdict=proposal.verdict,
        evidence=proposal.evidence,
        is_override=proposal.is_override,
        by=proposal.by,
    )
