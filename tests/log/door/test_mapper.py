"""The mapper's contract: what it writes, the log gives back, for every event class."""

from collections.abc import Iterator
from typing import Any, cast
from uuid import UUID

import msgspec
import pytest
from eventsourcing.persistence import JSONTranscoder, StoredEvent
from hypothesis import given, settings
from hypothesis import strategies as st

from domain.event import Event, Meta
from infrastructure.errors import ConfigurationError
from infrastructure.ids import new_id
from infrastructure.log.mapper import (
    StreamEvent,
    StructMapper,
    UnknownTopicError,
    split_topic,
    topic_of,
)
from infrastructure.log.recorder import LogRecorder
from infrastructure.postgres.codec import EVENT_CLASSES, UnknownEventError
from tests.fixtures.database import ON_BOTH_SERVERS, TestDatabase
from tests.golden.pinned import JOBS, META, OPERATIONS, PINNED
from tests.log.door.generated import instances
from tests.log.door.library import datastore_of

BEFORE_A_RETRY = {
    "job.retried": next(e for e in JOBS if e.tag == "job.discarded"),
    "fulfillment.retried": next(e for e in OPERATIONS if e.tag == "fulfillment.failed"),
}
"""The database lets a stream be retried only when it is dead."""


@pytest.fixture
def recorder(database: TestDatabase) -> Iterator[LogRecorder]:
    # One connection: a pool that grows uses `random`, which hypothesis takes ill.
    datastore = datastore_of(database.conninfo, pool_size=1, overflow=0)
    yield LogRecorder(datastore)
    datastore.close()


@pytest.fixture
def mapper() -> StructMapper:
    return StructMapper(JSONTranscoder())


def stored(mapper: StructMapper, event: StreamEvent) -> StoredEvent:
    return mapper.to_stored_event(cast("Any", event))


def mapped(mapper: StructMapper, event: StoredEvent) -> StreamEvent:
    return cast("StreamEvent", mapper.to_domain_event(event))


def stream_of(event: Event, meta: Meta) -> list[StreamEvent]:
    """Return a new stream that ends with `event`."""
    before = BEFORE_A_RETRY.get(event.tag)
    stream_id = new_id()
    return [
        StreamEvent(
            originator_id=stream_id,
            originator_version=version,
            tenant_id="acme",
            event=each,
            meta=meta,
        )
        for version, each in enumerate(filter(None, (before, event)), start=1)
    ]


@pytest.mark.database
@ON_BOTH_SERVERS
def test_every_event_comes_back_from_the_log_as_it_was_written(
    recorder: LogRecorder, mapper: StructMapper
) -> None:
    def comes_back(event: Event, meta: Meta) -> None:
        (*_, last) = stream = stream_of(event, meta)

        recorder.insert_events([stored(mapper, each) for each in stream])

        (read,) = recorder.select_events(last.originator_id, desc=True, limit=1)
        back = mapped(mapper, read)
        assert back.recorded_at is not None
        assert msgspec.structs.replace(back, recorded_at=None) == last

    for found in EVENT_CLASSES.values():
        drawn = given(event=instances(found), meta=instances(Meta))
        settings(max_examples=15)(drawn(comes_back))()


@pytest.mark.parametrize(("tag", "schema"), PINNED)
def test_an_event_survives_the_mapper_without_a_database(
    tag: str, schema: int, mapper: StructMapper
) -> None:
    (*_, event) = stream_of(PINNED[tag, schema], META)

    state = stored(mapper, event)

    assert mapped(mapper, state) == event
    assert state.topic == f"{tag}:{schema}"


@given(tag=st.from_regex(r"[a-z_.:]{1,20}", fullmatch=True), schema=st.integers(1, 99))
def test_a_topic_is_a_tag_with_its_schema_number(tag: str, schema: int) -> None:
    assert split_topic(topic_of(tag, schema)) == (tag, schema)


@pytest.mark.parametrize(
    "topic", ["", "job.claimed", "job.claimed:", ":1", "a:b", "a:²"]
)
def test_a_topic_of_another_form_is_refused(topic: str) -> None:
    with pytest.raises(UnknownTopicError):
        split_topic(topic)


def test_an_event_that_nothing_here_reads_is_refused_by_name(
    mapper: StructMapper,
) -> None:
    newer = StoredEvent(
        UUID(int=1), 1, "job.claimed:2", b'{"tenant_id":"default","data":{},"meta":{}}'
    )

    with pytest.raises(UnknownEventError, match=r"job\.claimed with schema 2"):
        mapper.to_domain_event(newer)


@pytest.mark.parametrize("option", ["compressor", "cipher"])
def test_states_are_neither_compressed_nor_encrypted(option: str) -> None:
    with pytest.raises(ConfigurationError, match="columns are JSON"):
        StructMapper(JSONTranscoder(), **cast("Any", {option: object()}))
