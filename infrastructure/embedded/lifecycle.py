"""The server of a cluster: looked at, started, stopped; always behind the gate."""

import os
import signal
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO, Final
from urllib.parse import quote

import psycopg

from infrastructure.embedded.binaries import Binaries, find_binaries, usable_by
from infrastructure.embedded.cluster import (
    check_version,
    create_cluster,
    system_identifier,
)
from infrastructure.embedded.place import PORT, Place
from infrastructure.embedded.postmaster import holder, read_pid_file, stop_postmaster
from infrastructure.errors import DatabaseUnavailableError

_START_SECONDS: Final = 120
"""A start after a crash replays the log of one checkpoint distance at most."""
_STOP_SECONDS: Final = 60
_LOOK_SECONDS: Final = 0.02
_LOG_BYTES: Final = 10_000_000
_TOLD_BYTES: Final = 1_000

_STILL_IN_USE: Final = "is still in use"
"""Said while children of a killed server live on; they need a moment to notice."""

_DETACH: Final = '"$0" "$@" >&2 & echo $!'
"""$0 is the server: it outlives this shell, which tells its number and ends."""

_IDENTIFIER: Final = "SELECT system_identifier FROM pg_control_system()"


def answering(place: Place) -> str | None:
    """Return the address of the server of this cluster, or None.

    The address is the one that the server wrote down, not a default that
    somebody else may answer at, and it must serve the cluster that lies here.
    """
    record = read_pid_file(place.data)
    if record is None or record.sockets is None or record.status != "ready":
        return None
    address = (
        f"postgresql://postgres@/postgres?host={quote(str(record.sockets), safe='')}"
        f"&port={record.port}"
    )
    try:
        with psycopg.connect(address, connect_timeout=3) as connection:
            row = connection.execute(_IDENTIFIER).fetchone()
    except psycopg.Error:
        return None
    return address if row == (system_identifier(place.data),) else None


def start(place: Place, chosen: Path | None, options: Mapping[str, str]) -> str:
    """Start the server, on a new cluster if there is none; return its address.

    Raises:
        ConfigurationError: the binaries are missing or do not fit the cluster.
        DatabaseUnavailableError: the server does not start.
    """
    binaries = usable_by(place.account, find_binaries(chosen))
    if not place.data.exists():
        create_cluster(place, binaries, durable=options["fsync"] == "on")
    check_version(place, binaries)
    end = time.monotonic() + _START_SECONDS
    while time.monotonic() < end:
        _clear_the_way(place, end)
        if address := answering(place):  # the one that was starting is ready
            return address
        if address := _launch(place, binaries, options, end):
            return address
    detail = f"PostgreSQL did not answer in time; see {place.log}"
    raise DatabaseUnavailableError(detail)


def _clear_the_way(place: Place, end: float) -> None:
    """Wait for a server of ours that is on its way, and drop a stale pid file.

    PostgreSQL overrides the file by itself when the number is free; a zombie's
    number, or one that a stranger has by now, would stop it for ever.  Children
    of a dead server are safe: they hold its shared memory, which stops a new one.
    """
    while record := read_pid_file(place.data):
        whose = holder(record.pid, place.data)
        if whose in {"zombie", "foreign"}:
            (place.data / "postmaster.pid").unlink(missing_ok=True)
            for folder in filter(None, {record.sockets, place.sockets()}):
                (folder / f".s.PGSQL.{PORT}.lock").unlink(missing_ok=True)
        if whose != "ours" or answering(place):
            return
        if time.monotonic() > end:
            detail = (
                f"the server {record.pid} in {place.data} does not answer "
                f"({record.status or 'silent'}); see {place.log}"
            )
            raise DatabaseUnavailableError(detail)
        time.sleep(_LOOK_SECONDS)


def _launch(
    place: Place, binaries: Binaries, options: Mapping[str, str], end: float
) -> str | None:
    """Return the new server's address, or None when another try is due."""
    with _open_log(place.log) as log, tempfile.TemporaryFile() as output:
        said_before = log.seek(0, os.SEEK_END)
        words = [word for pair in _options(place, options) for word in ("-c", pair)]
        place.account.run(
            [
                "/bin/sh",
                "-c",
                _DETACH,
                binaries.postgres,
                "-D",
                str(place.data),
                *words,
            ],
            output=output,
            errors=log,
        )
        output.seek(0)
        pid = int(output.read())
    while time.monotonic() < end:
        if address := answering(place):
            return address
        if holder(pid, place.data) in {"gone", "zombie"}:
            with place.log.open("rb") as log:
                log.seek(said_before)
                said = log.read().decode(errors="replace").strip()
            if _STILL_IN_USE not in said:
                detail = (
                    f"PostgreSQL did not start: {said[-_TOLD_BYTES:]} (see {place.log})"
                )
                raise DatabaseUnavailableError(detail)
            time.sleep(_LOOK_SECONDS)
            return None
        time.sleep(_LOOK_SECONDS)
    return None


def _options(place: Place, options: Mapping[str, str]) -> list[str]:
    ours = {
        "unix_socket_directories": str(place.sockets()),
        "unix_socket_permissions": "0700",
        "listen_addresses": "",
        "port": str(PORT),
        "max_connections": "200",
        "timezone": "UTC",
        "log_timezone": "UTC",
    }
    return [f"{name}={value}" for name, value in {**ours, **options}.items()]


def _open_log(log: Path) -> BinaryIO:
    if log.exists() and log.stat().st_size > _LOG_BYTES:
        log.rename(log.with_suffix(".log.1"))
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW
    return os.fdopen(os.open(log, flags, 0o600), "ab")


def stop(place: Place, how: signal.Signals = signal.SIGINT) -> bool:
    """Stop the server if it is ours, and return whether none is left.

    SIGINT ends sessions and writes a checkpoint; SIGQUIT ends at once.
    """
    record = read_pid_file(place.data)
    if record is None:
        return True
    return stop_postmaster(record.pid, place.data, how, _STOP_SECONDS)
