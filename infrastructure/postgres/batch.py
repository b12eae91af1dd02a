"""What a batch writes: its columns, its rows of heads, and the one statement for them.

heads, table by table in the order of the locks ─► events ─► messages
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Final, LiteralString
from uuid import UUID

from domain.outbox import outbox_data
from domain.stream import Change
from infrastructure.postgres.arrays import IntArray, SmallIntArray, TextArray, UuidArray
from infrastructure.postgres.codec import encoded
from infrastructure.postgres.heads.table import Columns, rows_as_json, uuid

# ORDER BY n: a plain join would be hashed from about 1,000 rows on, and then half of
# the streams got version 2 before version 1 (mechanisms 3).
_APPEND: Final = """
appended AS (
    INSERT INTO counterfoil.events
           (tenant_id, stream_id, version, type, schema, data, meta)
    SELECT g.tenant_id, g.stream_id, g.version, g.type, g.schema,
           g.data::jsonb, g.meta::jsonb
      FROM given g
     ORDER BY g.n
    RETURNING position
), positions AS (
    -- The order of the positions is the order of the events, as above.
    SELECT array_agg(position ORDER BY position) AS all_of_them FROM appended
)
"""

_GIVEN: Final = """
given AS (
    SELECT *
      FROM unnest(%(tenants)b::text[], %(streams)b::uuid[], %(versions)b::int[],
                  %(types)b::text[], %(schemas)b::smallint[], %(data)b::text[],
                  %(metas)b::text[])
           WITH ORDINALITY
           AS e(tenant_id, stream_id, version, type, schema, data, meta, n)
)
"""

_GIVEN_TOLD: Final = """
given AS (
    SELECT *
      FROM unnest(%(tenants)b::text[], %(streams)b::uuid[], %(versions)b::int[],
                  %(types)b::text[], %(schemas)b::smallint[], %(data)b::text[],
                  %(metas)b::text[], %(message_ids)b::uuid[], %(messages)b::text[])
           WITH ORDINALITY
           AS e(tenant_id, stream_id, version, type, schema, data, meta, message_id,
                message, n)
)
"""

# By number, not by a join: how many rows a join would meet is anybody's guess.
_TELL: Final = """
told AS (
    INSERT INTO counterfoil.outbox
           (id, position, tenant_id, topic, stream_id, version, data)
    SELECT g.message_id, p.all_of_them[g.n], g.tenant_id, g.type, g.stream_id,
           g.version, g.message::jsonb
      FROM positions p
     CROSS JOIN given g
     WHERE g.message IS NOT NULL
)
"""


_APPEND_ALONE: Final = f"{_GIVEN}, {_APPEND}"
_APPEND_AND_TELL: Final = f"{_GIVEN_TOLD}, {_APPEND}, {_TELL}"


@dataclass(frozen=True, slots=True)
class HeadStep:
    """One write of heads; part of the one statement of a batch."""

    name: LiteralString
    """Of the step, and of its parameters: `<name>_rows` and `<name>_ids`."""
    statement: LiteralString
    is_counted: bool = True
    """Whether it must meet as many rows as it was given."""


@dataclass(slots=True)
class Batch:
    """Columns of events and messages, and rows of heads, of the groups in a batch."""

    tenants: list[bytes] = field(default_factory=list[bytes])
    streams: list[bytes] = field(default_factory=list[bytes])
    versions: list[int] = field(default_factory=list[int])
    types: list[bytes] = field(default_factory=list[bytes])
    schemas: list[int] = field(default_factory=list[int])
    data: list[bytes] = field(default_factory=list[bytes])
    metas: list[bytes] = field(default_factory=list[bytes])
    messages: list[bytes | None] = field(default_factory=list[bytes | None])
    steps: list[HeadStep] = field(default_factory=list[HeadStep])
    rows: list[int] = field(default_factory=list[int])
    """How many rows each counted step must meet."""
    heads: dict[str, object] = field(default_factory=dict[str, object])
    """Parameters of the steps."""

    def append(self, change: Change, meta: bytes) -> None:
        """Add the events of one change and the messages that tell about them."""
        stream, tenant = change.ref.id.bytes, change.tenant_id.encode()
        for version, event in enumerate(change.events, change.expected + 1):
            self.tenants.append(tenant)
            self.streams.append(stream)
            self.versions.append(version)
            self.types.append(event.tag.encode())
            self.schemas.append(event.schema)
            self.data.append(encoded(event))
            self.metas.append(meta)
            message = outbox_data(event, change.state, change.ref.id)
            self.messages.append(None if message is None else encoded(message))

    def write_heads(self, step: HeadStep, rows: Sequence[Columns]) -> None:
        """Add rows that `step` writes."""
        self.heads[step.name + "_rows"] = rows_as_json(rows)
        self._step(step, [uuid(row["stream_id"]) for row in rows])

    def remove_heads(self, step: HeadStep, ids: Sequence[UUID]) -> None:
        """Add keys that `step` removes."""
        self._step(step, ids)

    def _step(self, step: HeadStep, ids: Sequence[UUID]) -> None:
        self.steps.append(step)
        self.heads[step.name + "_ids"] = UuidArray.of(ids)
        if step.is_counted:
            self.rows.append(len(ids))

    def parameters(self) -> dict[str, object]:
        """Return what the statement of these steps takes."""
        columns: dict[str, object] = {
            "tenants": TextArray(self.tenants),
            "streams": UuidArray(self.streams),
            "versions": IntArray(self.versions),
            "types": TextArray(self.types),
            "schemas": SmallIntArray(self.schemas),
            "data": TextArray(self.data),
            "metas": TextArray(self.metas),
        }
        if self.tells:
            columns["message_ids"] = UuidArray.new(len(self.messages))
            columns["messages"] = TextArray(self.messages)
        return columns | self.heads

    @property
    def tells(self) -> bool:
        """Whether any event has a message."""
        return any(self.messages)


@cache
def statement(steps: tuple[HeadStep, ...], *, tells: bool) -> LiteralString:
    """Return the one statement that takes these steps and appends.

    The steps run in the order of their counts, so heads are written in the order of
    the locks, and nothing waits for a unique key with a ticket in its hand.
    """
    parts: list[LiteralString] = []
    counts: list[LiteralString] = []
    for step in steps:
        rows, ids = f"%({step.name}_rows)s", f"%({step.name}_ids)b"
        body = step.statement.replace("%(rows)s", rows).replace("%(ids)b", ids)
        if step.is_counted and "RETURNING" not in body:
            body += " RETURNING 1"
        parts.append(f"{step.name} AS ({body})")
        if step.is_counted:
            counts.append(f"(SELECT count(*) FROM {step.name})")  # noqa: S608 - a name of ours
    parts.append(_APPEND_AND_TELL if tells else _APPEND_ALONE)
    counts.append("(SELECT all_of_them FROM positions)")
    return f"WITH {', '.join(parts)} SELECT {', '.join(counts)}"
