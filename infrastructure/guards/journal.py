"""The host's own list of purchases, which no restore of the database takes back.

A line is on the disk before its purchase is sent, so whoever reads the file knows of
every purchase that was ever sent from here, and of some that were not.

    <checksum> <purchase> <key>

Many processes append, each with one write and without a lock: one that is frozen would
hold it.  Every write begins with a new line, so it ends what a crash or a full disk
left half written; what does not fit its checksum was never sent, and is no line.
"""

import errno
import os
import re
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from uuid import UUID

NAME: Final = "purchases.journal"
LINES: Final = 512
"""How many of the newest lines are compared with the log.  A restore takes back the
newest; lines are out of the order of their commits by as many as are sent at once."""

_LINE: Final = re.compile(rb"([0-9a-f]{8}) (\d{1,9}) (goods:\S{1,200})")
_KEY: Final = re.compile(
    r"goods:([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})"
    r":(\d{1,9}):(\d{1,9})"
)
_LONGEST_LINE: Final = 256
_OWN: Final = 0o600


@dataclass(frozen=True, slots=True)
class Line:
    """One purchase that was, or was about to be, sent from this host."""

    key: str
    purchase: int

    @property
    def order(self) -> UUID:
        """The stream of the order that it was for."""
        return UUID(_parts(self.key)[1])

    @property
    def number(self) -> int:
        """The line of that order."""
        return int(_parts(self.key)[2])


def _parts(key: str) -> re.Match[str]:
    found = _KEY.fullmatch(key)
    if found is None:
        msg = f"{key[:80]!r} is no key of a purchase"
        raise ValueError(msg)
    return found


class FileJournal:
    """Appends to one file, which all processes of a host share."""

    def __init__(self, folder: Path) -> None:
        """Keep the journal in `folder`, which is made when there is none."""
        self.path = folder / NAME
        self._has_failed = False

    def write(self, key: str, purchase: int) -> None:
        """See `Journal.write`."""
        _parts(key)
        told = f"{purchase} {key}".encode()
        self._append(b"\n%08x %b\n" % (zlib.crc32(told), told))

    def _append(self, line: bytes) -> None:
        self._has_failed = True
        file = self._open()
        try:
            if os.write(file, line) != len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self.path))
            os.fsync(file)
            if os.fstat(file).st_nlink == 0:
                raise OSError(errno.ESTALE, "it was removed meanwhile", str(self.path))
        finally:
            os.close(file)
        self._has_failed = False

    def check(self) -> None:
        """See whether it can be appended to; makes it when there is none.

        After a failure an empty line is kept, as a line would be.

        Raises:
            OSError: it cannot.
        """
        if self._has_failed:
            self._append(b"\n")
        else:
            os.close(self._open())

    def _open(self) -> int:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC
        try:
            return os.open(self.path, flags)
        except FileNotFoundError:
            self._make_folder(self.path.parent)
            file = os.open(self.path, flags | os.O_CREAT, _OWN)
        try:
            _keep_entries(self.path.parent)
        except BaseException:
            os.close(file)
            raise
        return file

    def _make_folder(self, folder: Path) -> None:
        if not folder.is_dir():
            self._make_folder(folder.parent)
            folder.mkdir(exist_ok=True)
            _keep_entries(folder.parent)

    def newest(self, lines: int = LINES) -> tuple[Line, ...]:
        """Return the newest lines, the oldest of them first; none without a file.

        Raises:
            OSError: it is there, and cannot be read.
        """
        try:
            with self.path.open("rb") as file:
                length = file.seek(0, os.SEEK_END)
                file.seek(max(0, length - lines * _LONGEST_LINE))
                told = file.read().split(b"\n")
        except (FileNotFoundError, NotADirectoryError):
            return ()
        found = [line for each in told if (line := _read(each)) is not None]
        return tuple(dict.fromkeys(found[-lines:]))


def _read(told: bytes) -> Line | None:
    found = _LINE.fullmatch(told)
    if found is None or zlib.crc32(told[9:]) != int(found[1], 16):
        return None
    key = found[3].decode(errors="replace")
    return Line(key, int(found[2])) if _KEY.fullmatch(key) else None


def _keep_entries(folder: Path) -> None:
    """Put on the disk which files a folder has."""
    file = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(file)
    finally:
        os.close(file)
