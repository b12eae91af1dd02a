"""Instants from PostgreSQL, in UTC whatever the session's time zone is.

The time zone belongs to the session, and a pooler hands us sessions that others
have set: so it is not set but made irrelevant.
"""

from datetime import UTC, datetime, timedelta
from struct import Struct
from typing import Any, Final, override

import psycopg
from psycopg.abc import Buffer
from psycopg.adapt import Loader
from psycopg.pq import Format

EPOCH: Final = datetime(2000, 1, 1, tzinfo=UTC)
"""From where PostgreSQL counts microseconds."""

_MICROSECONDS: Final = Struct("!q")


def return_instants_in_utc(connection: psycopg.Connection[Any]) -> None:
    """Make every `timestamptz` that `connection` returns an aware UTC datetime."""
    connection.adapters.register_loader("timestamptz", _TextLoader)
    connection.adapters.register_loader("timestamptz", _BinaryLoader)


class _TextLoader(Loader):
    """Reads `2025-01-31 12:30:00.5+05:30`: DateStyle ISO, the default."""

    @override
    def load(self, data: Buffer) -> datetime:
        text = bytes(data).decode("ascii", "replace")
        try:
            return datetime.fromisoformat(text).astimezone(UTC)
        except (ValueError, OverflowError):
            raise _unreadable(text) from None


def instant_sent(data: Buffer) -> datetime:
    """Return the instant that `timestamptz_send` told.

    Raises:
        psycopg.DataError: it lies outside the years 1 to 9999.
    """
    (told,) = _MICROSECONDS.unpack(data)
    try:
        return EPOCH + timedelta(microseconds=told)
    except OverflowError:
        raise _unreadable(str(told)) from None


class _BinaryLoader(Loader):
    """Reads microseconds since the start of 2000, in UTC already."""

    format = Format.BINARY

    @override
    def load(self, data: Buffer) -> datetime:
        return instant_sent(data)


def _unreadable(text: str) -> psycopg.DataError:
    detail = f"not an instant between the years 1 and 9999 in ISO form: {text}"
    return psycopg.DataError(detail)
