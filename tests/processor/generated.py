"""Rows of jobs as they may lie in the table, made up, and put there by force."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from itertools import count
from uuid import UUID

import msgspec
import psycopg
from hypothesis import strategies as st

from domain.event import Actor, JsonObject, Meta
from domain.jobs.aggregate import Cause, Job, Stage
from domain.jobs.events import CancelRequested, Owner
from domain.stream import Change, Ref, StreamKind
from infrastructure.ids import new_id
from infrastructure.postgres.heads.jobs import JOBS, columns_of
from infrastructure.postgres.heads.table import rows_as_json

OWNER = Owner(host="somewhere", pid=42, boot=UUID(int=42))
BEFORE = datetime(2026, 1, 1, tzinfo=UTC)
_numbers = count(1)

counters = st.sampled_from([0, 1, 2, 40, 1_000, 2**31 - 2, 2**31 - 1])
texts = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20
)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | texts,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3)
    ),
    max_leaves=8,
)
json_objects: st.SearchStrategy[JsonObject] = st.dictionaries(
    texts, json_values, max_size=4
)


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One job as it lies in the table, and what its stream tells beside it."""

    ref: Ref
    job: Job
    tenant_id: str
    correlation_id: str
    args: JsonObject
    in_line: bool


@st.composite
def rows(draw: st.DrawFn, *, running: bool = False) -> Row:
    number = next(_numbers)
    version = draw(st.integers(1, 10**6))
    job = Job(
        version=version,
        stage=Stage.RUNNING if running else Stage.WAITING,
        kind=draw(st.sampled_from(["noop", "other"])),
        queue="default",
        priority=draw(st.integers(1, 4)),
        unique_key=draw(st.none() | st.just(f"unique {number}")),
        serial_key=draw(st.none() | st.just(f"serial {number}")),
        serial_order=draw(st.integers(-5, 5)),
        concurrency_limit=draw(st.sampled_from([1, 1, 2, 1_000])),
        run_at=BEFORE + draw(st.timedeltas(timedelta(0), timedelta(days=100))),
        max_attempts=draw(st.none() | st.integers(1, 1_000)),
        deadline=draw(st.none() | st.just(BEFORE)),
        cause=None if running else draw(st.none() | st.sampled_from(Cause)),
        attempt=draw(counters),
        parkings=draw(counters),
        token=draw(st.integers(1, version)) if running else None,
        owner=OWNER if running else None,
        cancel_requested=running and draw(st.booleans()),
        error_code=draw(st.none() | texts),
        crashes=draw(counters),
        is_suspect=draw(st.booleans()),
    )
    return Row(
        ref=Ref(StreamKind.JOB, new_id()),
        job=job,
        tenant_id=draw(st.sampled_from(["default", "other"])),
        correlation_id=draw(texts),
        args=draw(json_objects),
        in_line=draw(st.booleans()),
    )


def put(
    connection: psycopg.Connection[object],
    laid: list[Row],
    slots: Mapping[UUID, int] | None = None,
) -> None:
    """Lay rows into the table, past the trigger that asks where they come from.

    `slots` says in which slots of their keys jobs run, where it is not the first.
    """
    columns = []
    for row in laid:
        change = Change(
            ref=row.ref, tenant_id=row.tenant_id, expected=0, events=(), state=row.job
        )
        meta = Meta(actor=Actor("system", "test"), correlation_id=row.correlation_id)
        made = columns_of(
            msgspec.structs.replace(change, events=(CancelRequested(),)), meta
        )
        columns.append(made | {"args": row.args, "in_line": row.in_line})
    with connection.transaction():
        connection.execute("SET LOCAL session_replication_role = replica")
        connection.execute(JOBS.insert, {"rows": rows_as_json(columns)})
        for row in laid:
            if row.job.stage is Stage.RUNNING and row.job.serial_key is not None:
                connection.execute(
                    "INSERT INTO counterfoil.running_keys VALUES (%s, %s, %s, %s, %s)",
                    (
                        row.tenant_id,
                        row.job.serial_key,
                        row.ref.id,
                        row.job.token,
                        (slots or {}).get(row.ref.id, 1),
                    ),
                )
