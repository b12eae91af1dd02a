"""The folder of evidence: files under their digests, on the disk before they count."""

import hashlib
import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import Final
from uuid import uuid4

from infrastructure.errors import InfrastructureError

NAME: Final = "evidence"
_OWN: Final = 0o600


class EvidenceUnwritableError(InfrastructureError):
    """A file cannot be kept: the disk is full, or the folder is closed to us."""

    code = "evidence_unwritable"

    def __init__(self, told: str) -> None:
        """Say what the system says, and no path."""
        super().__init__(
            f"{self.code}: the file cannot be kept ({told}); see to the disk of "
            "COUNTERFOIL_DATA_DIR, and send it again"
        )


class EvidenceUnreadableError(InfrastructureError):
    """A file that is on record is not on the disk as it was kept."""

    code = "evidence_unreadable"

    def __init__(self, sha256: bytes, told: str) -> None:
        """Name the file, and say what is wrong with it."""
        super().__init__(
            f"{self.code}: {sha256.hex()} {told}; restore it from the backup of the "
            "folder of evidence, or add the same file to the delivery again"
        )


class FolderOfEvidence:
    """See `EvidenceFiles`."""

    def __init__(self, data_dir: Path) -> None:
        """Keep files in `evidence` below `data_dir`; it is made when it is missing."""
        self.path = data_dir / NAME

    def keep(self, sha256: bytes, content: bytes) -> None:
        """See `EvidenceFiles.keep`."""
        try:
            make_folder(self.path)
            file = self.path / sha256.hex()
            if not _holds(file, sha256, len(content)):
                write_whole(file, content)
            # Also of a file that was there: whoever wrote it may have died before this.
            keep_entries(self.path)
        except OSError as error:
            told = error.strerror or type(error).__name__
            raise EvidenceUnwritableError(told) from error

    def read(self, sha256: bytes, size_bytes: int) -> bytes:
        """See `EvidenceFiles.read`."""
        try:
            content = _regular(self.path / sha256.hex(), size_bytes)
        except FileNotFoundError:
            raise EvidenceUnreadableError(sha256, "is not in the folder") from None
        except OSError as error:
            told = error.strerror or type(error).__name__
            raise EvidenceUnreadableError(sha256, f"cannot be read ({told})") from error
        if content is None or hashlib.sha256(content).digest() != sha256:
            raise EvidenceUnreadableError(sha256, "has changed since it was kept")
        return content


def _regular(file: Path, size_bytes: int) -> bytes | None:
    """Return a file's content; None: it is no file of that size.

    Nothing that lies there in its place is followed, waited for, or read whole.
    """
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    with os.fdopen(os.open(file, flags), "rb") as opened:
        status = os.fstat(opened.fileno())
        if not stat.S_ISREG(status.st_mode) or status.st_size != size_bytes:
            return None
        return opened.read(size_bytes)


def _holds(file: Path, sha256: bytes, size_bytes: int) -> bool:
    """Whether the file is whole: a disk may have lost some of it."""
    try:
        content = _regular(file, size_bytes)
    except OSError:
        return False  # whatever it is, it is replaced, or that fails
    return content is not None and hashlib.sha256(content).digest() == sha256


def write_whole(file: Path, content: bytes) -> None:
    """Write a file that is there whole, or not at all, whatever dies on the way."""
    draft = file.with_name(f".{file.name}.{uuid4().hex}")
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        with os.fdopen(os.open(draft, flags, _OWN), "wb") as opened:
            opened.write(content)
            opened.flush()
            os.fsync(opened.fileno())
        draft.replace(file)
    except BaseException:
        with suppress(OSError):
            draft.unlink(missing_ok=True)
        raise


def make_folder(folder: Path) -> None:
    """Make it with all above it, their names on the disk."""
    if not folder.is_dir():
        make_folder(folder.parent)
        folder.mkdir(exist_ok=True, mode=0o700)
        keep_entries(folder.parent)


def keep_entries(folder: Path) -> None:
    """Return when the names in `folder` are on the disk."""
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
