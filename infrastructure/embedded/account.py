"""Under which account PostgreSQL runs: ours, or for root one without rights."""

import os
import pwd
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

from infrastructure.errors import ConfigurationError, DatabaseUnavailableError

UNPRIVILEGED: Final = "nobody"
"""Runs the server when we are root: PostgreSQL refuses root."""

_ADDRESS_SETTING: Final = "COUNTERFOIL_DATABASE_URL"
_DATA_SETTING: Final = "COUNTERFOIL_DATA_DIR"
_TOOL_SECONDS: Final = 300  # initdb syncs a thousand files: minutes on a busy disk
_ROOT: Final = 0


@dataclass(frozen=True, slots=True)
class Account:
    """The user that owns the cluster and runs the server."""

    uid: int
    gid: int
    name: str
    switched: bool
    """True when it is not our own account, so that only root can use it."""

    def run(
        self,
        argv: Sequence[str],
        *,
        output: IO[bytes] | int = subprocess.DEVNULL,
        errors: IO[bytes] | int = subprocess.STDOUT,
    ) -> subprocess.CompletedProcess[bytes]:
        """Run a tool to its end under this account, with a clean environment.

        Raises:
            DatabaseUnavailableError: it did not end in minutes.
        """
        try:
            return self._run(argv, output, errors)
        except subprocess.TimeoutExpired as error:
            detail = f"{argv[0]} did not end in {_TOOL_SECONDS} s"
            raise DatabaseUnavailableError(detail) from error

    def _run(
        self, argv: Sequence[str], output: IO[bytes] | int, errors: IO[bytes] | int
    ) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(  # noqa: S603 - an argument list of ours, no shell
            argv,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=errors,
            cwd="/",
            env=_environment(),
            check=False,
            timeout=_TOOL_SECONDS,
            start_new_session=True,  # Ctrl-C is for us, not for the server
            umask=0o077,
            user=self.uid if self.switched else None,
            group=self.gid if self.switched else None,
            extra_groups=[] if self.switched else None,
        )

    def own(self, path: Path) -> None:
        """Make the directory `path`, or give it, to this account alone."""
        path.mkdir(mode=0o700, exist_ok=True)
        if self.switched:
            os.chown(path, self.uid, self.gid)
        path.chmod(0o700)

    def may_use(self, path: Path) -> bool:
        """Return whether the account can enter a directory or run a file."""
        if not self.switched:
            return os.access(path, os.X_OK)
        # Asked of the kernel, not of the mode bits: ACLs and mounts count too.
        return (
            self.run(["/bin/sh", "-c", 'test -x "$1"', "sh", str(path)]).returncode == 0
        )


def account_for(data: Path) -> Account:
    """Return who runs the cluster `data`: as root its owner, or `nobody`.

    Raises:
        ConfigurationError: the cluster belongs to somebody else, or no account
            without rights exists.
    """
    uid = os.geteuid()
    owner = _owner(data)
    if uid != _ROOT:
        if owner is not None and owner != uid:
            raise ConfigurationError(
                _DATA_SETTING,
                f"the database in {data} belongs to user {_name(owner)}",
                "run as that user, or as root if root made it, or name another folder",
            )
        return Account(uid, os.getegid(), _name(uid), switched=False)
    try:
        entry = pwd.getpwuid(owner) if owner else pwd.getpwnam(UNPRIVILEGED)
    except KeyError:
        raise ConfigurationError(
            _ADDRESS_SETTING,
            f"PostgreSQL refuses root, and there is no user {owner or UNPRIVILEGED}",
            "run as another user, or give the address of a database",
        ) from None
    return Account(entry.pw_uid, entry.pw_gid, entry.pw_name, switched=True)


def _owner(data: Path) -> int | None:
    try:
        return data.stat().st_uid
    except (FileNotFoundError, NotADirectoryError):
        return None


def _name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def _environment() -> Mapping[str, str]:
    """Return an environment in which no `PG…` variable can speak for us."""
    return {"PATH": "/usr/bin:/bin", "LC_ALL": "C", "TZ": "UTC"}
