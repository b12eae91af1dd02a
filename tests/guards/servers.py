"""Servers that are dumped, copied, thrown away and put back."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from infrastructure.embedded import lifecycle
from infrastructure.embedded.binaries import find_binaries
from infrastructure.embedded.place import lasting_place

QUICK = {"fsync": "off", "wal_level": "replica", "max_connections": "20"}


def tool(name: str, *words: str) -> None:
    folder = find_binaries(None).folder
    subprocess.run([folder / name, *words], check=True, capture_output=True)


def dumped(uri: str, folder: Path) -> Path:
    dump = folder / "dump"
    tool("pg_dump", "--format=custom", f"--file={dump}", uri)
    return dump


@pytest.fixture
def var() -> Iterator[Path]:
    """A data folder in memory; whatever server runs in it is stopped at the end."""
    fast = Path("/dev/shm")  # noqa: S108 - a folder of its own in it
    outside = Path(tempfile.mkdtemp(prefix="cf-", dir=fast if fast.is_dir() else None))
    outside.chmod(0o755)
    try:
        yield outside / "var"
    finally:
        for home in outside.glob("*/postgres"):
            place = lasting_place(home.parent)
            lifecycle.stop(place)
            place.give_sockets_back()
        shutil.rmtree(outside)


def owned_copy(source: Path, target: Path) -> None:
    shutil.copytree(source, target)
    owner = source.stat()
    for path in (target, *target.rglob("*")):
        os.chown(path, owner.st_uid, owner.st_gid)
    target.chmod(0o700)


def put_back(copy: Path, data: Path) -> None:
    shutil.rmtree(data)
    copy.rename(data)
