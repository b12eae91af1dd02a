"""File locks that the kernel drops when their holder dies."""

import fcntl
import os
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from infrastructure.errors import DatabaseUnavailableError

_LOOK_SECONDS: Final = 0.01
_GATE_SECONDS: Final = 480
"""Longer than anyone may hold the gate: making a cluster, and starting it."""


def open_lock(path: Path) -> int:
    """Return a descriptor of the lock file, made for the folder's owner alone."""
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    lock = os.open(path, flags, 0o600)
    owner = path.parent.stat()
    if os.fstat(lock).st_uid != owner.st_uid:  # root visits somebody's folder
        os.fchown(lock, owner.st_uid, owner.st_gid)
    return lock


@contextmanager
def gate(home: Path) -> Generator[None]:
    """Hold the gate: nobody else starts, stops or joins the server meanwhile.

    Raises:
        DatabaseUnavailableError: somebody has held it for minutes.
    """
    lock = open_lock(home / "gate.lock")
    try:
        end = time.monotonic() + _GATE_SECONDS
        while not try_alone(lock):
            if time.monotonic() > end:
                detail = (
                    f"another process has held {home / 'gate.lock'} for "
                    f"{_GATE_SECONDS} s; see {home / 'server.log'}"
                )
                raise DatabaseUnavailableError(detail)
            time.sleep(_LOOK_SECONDS)
        yield
    finally:
        os.close(lock)


def try_alone(lock: int) -> bool:
    """Take the lock exclusively, and return False at once when others hold it."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def share(lock: int) -> None:
    """Hold the lock together with others."""
    fcntl.flock(lock, fcntl.LOCK_SH)
