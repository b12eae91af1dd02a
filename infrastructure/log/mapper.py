"""Our events as the event-sourcing library sees them.

A topic is a stored tag with the number of its schema (`job.claimed:1`), never a
module path, so code can be renamed under it.  The state is one JSON object:

    {"tenant_id": …, "data": {…}, "meta": {…}, "recorded_at": …}

`data` and `meta` are the columns of those names, byte for byte as the batch store
writes them.  `tenant_id` is in it because a row of the log cannot be written
without one, `recorded_at` because a reader wants to know when; the database makes
it, so it is absent from what has not been recorded yet.
"""

from datetime import datetime
from typing import Final, cast, override
from uuid import UUID

import msgspec
from eventsourcing.domain import DomainEventProtocol
from eventsourcing.persistence import (
    Cipher,
    Compressor,
    Mapper,
    StoredEvent,
    Transcoder,
)

from domain.event import Event, Meta
from infrastructure.errors import ConfigurationError, InfrastructureError
from infrastructure.postgres.codec import decode_event, decode_meta, encode

_SEPARATOR: Final = ":"


class UnknownTopicError(InfrastructureError):
    """A topic is not of the form `<tag>:<schema>`."""

    code = "unknown_topic"

    def __init__(self, topic: str) -> None:
        """Name the topic."""
        self.topic = topic
        super().__init__(f"topic {topic!r} is not a tag with a schema number")


class StreamEvent(msgspec.Struct, frozen=True, kw_only=True):
    """One event of a stream, under the names that the library asks for."""

    originator_id: UUID
    """The stream."""
    originator_version: int
    """The event's place in its stream, from 1."""
    tenant_id: str
    event: Event
    meta: Meta
    recorded_at: datetime | None = None
    """None until it was read back from the log."""


class Envelope(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The state of a stored event: what a row holds beside its keys and its tag."""

    tenant_id: str
    data: msgspec.Raw
    meta: msgspec.Raw
    recorded_at: datetime | None = None


def topic_of(tag: str, schema: int) -> str:
    """Return the topic of a tag and the number of its schema."""
    return f"{tag}{_SEPARATOR}{schema}"


def split_topic(topic: str) -> tuple[str, int]:
    """Return tag and schema number of a topic.

    Raises:
        UnknownTopicError: it is not one of ours.
    """
    tag, _, schema = topic.rpartition(_SEPARATOR)
    if not (tag and schema.isascii() and schema.isdigit()):
        raise UnknownTopicError(topic)
    return tag, int(schema)


class StructMapper(Mapper[UUID]):
    """Maps `StreamEvent`s; select it with `MAPPER_TOPIC` (see `LogRecorder`)."""

    def __init__(
        self,
        transcoder: Transcoder,
        compressor: Compressor | None = None,
        cipher: Cipher | None = None,
    ) -> None:
        """Take a transcoder for the library's sake; events have their own.

        Raises:
            ConfigurationError: the log's columns are JSON, so states can be neither
                compressed nor encrypted.
        """
        if compressor is not None or cipher is not None:
            setting = "COMPRESSOR_TOPIC" if cipher is None else "CIPHER_TOPIC"
            raise ConfigurationError(
                setting, "the log's columns are JSON", "leave it unset"
            )
        super().__init__(transcoder)

    @override
    def to_stored_event(self, domain_event: DomainEventProtocol[UUID]) -> StoredEvent:
        """Return what the recorder writes for a `StreamEvent`."""
        mapped = cast("StreamEvent", domain_event)
        envelope = Envelope(
            tenant_id=mapped.tenant_id,
            data=msgspec.Raw(encode(mapped.event).encode()),
            meta=msgspec.Raw(encode(mapped.meta).encode()),
            recorded_at=mapped.recorded_at,
        )
        return StoredEvent(
            originator_id=mapped.originator_id,
            originator_version=mapped.originator_version,
            topic=topic_of(mapped.event.tag, mapped.event.schema),
            state=msgspec.json.encode(envelope),
        )

    @override
    def to_domain_event(self, stored_event: StoredEvent) -> DomainEventProtocol[UUID]:
        """Return the `StreamEvent` of what the recorder read.

        Raises:
            UnknownEventError: a newer binary wrote it.
            UnknownTopicError: its topic is not one of ours.
        """
        tag, schema = split_topic(stored_event.topic)
        envelope = msgspec.json.decode(stored_event.state, type=Envelope)
        mapped: object = StreamEvent(
            originator_id=_uuid(stored_event.originator_id),
            originator_version=stored_event.originator_version,
            tenant_id=envelope.tenant_id,
            event=decode_event(tag, schema, bytes(envelope.data)),
            meta=decode_meta(bytes(envelope.meta)),
            recorded_at=envelope.recorded_at,
        )
        # A struct has both properties of the protocol; its __init__ is stricter.
        return cast("DomainEventProtocol[UUID]", mapped)


def _uuid(originator_id: UUID | str) -> UUID:
    return originator_id if isinstance(originator_id, UUID) else UUID(originator_id)
