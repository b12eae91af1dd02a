"""Events to columns and back: `data` and `meta` as JSON, the class found by its tag.

Decoding is strict about the tag and the schema number, so that an event of a
newer binary stops a follower with a clear word instead of being read wrongly.
"""

from collections.abc import Mapping
from typing import Final

import msgspec

from domain.bulk import events as bulk_events
from domain.entitlement import events as entitlement_events
from domain.event import Event, Meta
from domain.fulfillment import events as fulfillment_events
from domain.goods import events as goods_events
from domain.jobs import events as job_events
from domain.maintenance import events as maintenance_events
from domain.operators import events as operator_events
from domain.order import events as order_events
from infrastructure.errors import InfrastructureError

_MODULES = (
    order_events,
    entitlement_events,
    fulfillment_events,
    goods_events,
    job_events,
    maintenance_events,
    operator_events,
    bulk_events,
)

EVENT_CLASSES: Final[Mapping[str, type[Event]]] = {
    found.tag: found
    for module in _MODULES
    for found in vars(module).values()
    if isinstance(found, type) and issubclass(found, Event) and found is not Event
}
"""Every stored tag and the class that reads it."""

_encoder = msgspec.json.Encoder()
_meta_decoder = msgspec.json.Decoder(Meta)
_decoders = {tag: msgspec.json.Decoder(found) for tag, found in EVENT_CLASSES.items()}


class UnknownEventError(InfrastructureError):
    """The log holds an event that this binary cannot read."""

    code = "unknown_event"

    def __init__(self, tag: str, schema: int) -> None:
        """Name the tag and the schema number that nothing here reads."""
        self.tag = tag
        self.schema = schema
        super().__init__(f"no reader for event {tag} with schema {schema}")


def encode(value: msgspec.Struct) -> str:
    """Return an event, a meta or any other struct as JSON text."""
    return encoded(value).decode()


def encoded(value: object) -> bytes:
    """Return a struct, or what is made of plain JSON, as JSON in UTF-8."""
    return _encoder.encode(value)


def decode_event(tag: str, schema: int, data: bytes | str) -> Event:
    """Return the event of one row of the log.

    Raises:
        UnknownEventError: a newer binary wrote it.
        msgspec.ValidationError: the row does not fit its own schema.
    """
    found = EVENT_CLASSES.get(tag)
    if found is None or found.schema != schema:
        raise UnknownEventError(tag, schema)
    return _decoders[tag].decode(data)


def decode_meta(data: bytes | str) -> Meta:
    """Return the meta data of one row of the log."""
    return _meta_decoder.decode(data)
