"""Ids on the wire: `job_0197…` says what it is; the prefix is presentation alone."""

from enum import StrEnum
from uuid import UUID

from application.errors import NotFoundError


class Prefix(StrEnum):
    """What an id is of."""

    JOB = "job"
    OPERATION = "op"
    DELIVERY = "dlv"
    ORDER = "ord"
    ENTITLEMENT = "ent"
    BULK = "blk"
    TOKEN = "tok"  # noqa: S105 - no password
    PERSON = "usr"
    CALLBACK = "cbk"
    MESSAGE = "out"
    WORKER = "wrk"
    DRIFT = "drf"


def told(prefix: Prefix, id_: UUID) -> str:
    """Return an id as the API shows it."""
    return f"{prefix}_{id_}"


def told_if(prefix: Prefix, id_: UUID | None) -> str | None:
    """Return an id as the API shows it, or None as it is."""
    return None if id_ is None else told(prefix, id_)


def given(text: str, *prefixes: Prefix) -> UUID:
    """Return the id that somebody gave, with one of these prefixes or without any.

    Raises:
        NotFoundError: nothing of that kind has such an id.
    """
    kind, _, rest = text.rpartition("_")
    names = " or ".join(each.name.lower() for each in prefixes)
    if kind and kind not in prefixes:
        raise NotFoundError(names, text[:64])
    try:
        return UUID(rest)
    except ValueError:
        raise NotFoundError(names, text[:64]) from None
