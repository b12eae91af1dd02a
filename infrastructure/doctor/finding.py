"""What the doctor has found out."""

from collections.abc import Callable, Iterator

import msgspec

from infrastructure.postgres.database import Connection
from infrastructure.settings import Settings


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that was looked at; never a secret, nor what a driver said of one."""

    about: str
    is_well: bool
    detail: str
    remedy: str | None = None
    """What would help; None: it is well."""


type Look = Callable[[Settings, Connection], Iterator[Finding]]
"""Yields at least one finding."""


def well(about: str, detail: str) -> Finding:
    """Return that something is as it should be."""
    return Finding(about=about, is_well=True, detail=detail)


def ill(about: str, detail: str, remedy: str) -> Finding:
    """Return what is wrong, and what would help."""
    return Finding(about=about, is_well=False, detail=detail, remedy=remedy)
