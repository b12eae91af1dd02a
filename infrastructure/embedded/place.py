"""Where a cluster lies, and what lies beside it.

    <home>/gate.lock     held while somebody starts, stops or joins the server
    <home>/users.lock    held, shared, by everyone who uses the server
    <home>/server.log    what the server says
    <home>/data/         the cluster            (entered by its owner alone)
    <home>/run/          the socket             (entered by its owner alone)

`home` is `<data folder>/postgres`.  Where the server's account cannot get there
(root's home is closed to `nobody`), `<data folder>/postgres` is a link to a
folder in the refuge, and a notice says so.  `run` is a link into the temporary
folder when a socket's path would be too long or hold characters that need care.
"""

import errno
import os
import re
import stat
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from infrastructure.embedded.account import Account, account_for
from infrastructure.errors import ConfigurationError

PORT: Final = 5432
"""Names the socket's file; no TCP port is opened."""

_SETTING: Final = "COUNTERFOIL_DATA_DIR"
_SOCKET_BYTES: Final = 103  # macOS; Linux allows 107
_PLAIN: Final = re.compile(r"[\w/.+-]+", re.ASCII)
REFUGES: Final = (Path("/var/lib/counterfoil"), Path("/var/tmp/counterfoil-root"))  # noqa: S108 - entered only when root owns it
_OPEN_TO_OTHERS: Final = 0o022
_ENTERED_BY_NAME: Final = 0o711
"""Root's folder around the server's: its account gets through and sees nothing."""


@dataclass(frozen=True, slots=True)
class Place:
    """The folder of one cluster and the account that it belongs to."""

    home: Path
    account: Account
    notice: str | None = None
    """Where the data lie when that is not where one would look."""

    @property
    def data(self) -> Path:
        """Return the data directory."""
        return self.home / "data"

    @property
    def log(self) -> Path:
        """Return the server's log."""
        return self.home / "server.log"

    def sockets(self) -> Path:
        """Return the socket's folder, ready, closed to others, and short enough."""
        run = self.home / "run"
        if not run.is_symlink():
            if _fits(run):
                self.account.own(run)
                return run
            with suppress(FileNotFoundError):
                run.rmdir()
        elif self._is_ours(run.readlink()):
            return run.readlink()
        run.unlink(missing_ok=True)
        short = Path(
            tempfile.mkdtemp(prefix="counterfoil-", dir=_temporary(self.account))
        )
        self.account.own(short)
        run.symlink_to(short)
        return short

    def give_sockets_back(self) -> None:
        """Remove a short socket folder once nobody serves in it."""
        run = self.home / "run"
        if run.is_symlink():
            with suppress(OSError):  # gone, or not empty: then it is still there
                run.readlink().rmdir()
            run.unlink()

    def _is_ours(self, folder: Path) -> bool:
        """Return whether nobody else made or opened a folder among strangers."""
        try:
            told = folder.lstat()
        except FileNotFoundError:
            return False
        return (
            stat.S_ISDIR(told.st_mode)
            and told.st_uid == self.account.uid
            and stat.S_IMODE(told.st_mode) == stat.S_IRWXU
        )


def lasting_place(data_dir: Path) -> Place:
    """Return the place of the cluster that belongs to `data_dir`, made if new.

    Raises:
        ConfigurationError: nothing can be written there.
    """
    try:
        folder = data_dir.absolute()
        account = account_for(folder / "postgres" / "data")
        _make(folder, account)
        home = folder / "postgres"
        notice = None
        if not account.may_use(folder) and not home.is_symlink():
            _link(home, refuge(account))
        if home.is_symlink():
            notice = (
                f"The database lies in {home.resolve()}: user {account.name}, who runs "
                f"PostgreSQL for root, may not enter {folder}."
            )
        home = home.resolve()
        _make(home, account)
        if not os.access(home, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except OSError as error:
        raise ConfigurationError(
            _SETTING,
            f"{data_dir.absolute()} cannot be used ({error.strerror})",
            "name a folder that this user can write to",
        ) from error
    if not account.may_use(home):
        raise ConfigurationError(
            _SETTING,
            f"user {account.name}, who runs PostgreSQL, may not enter {home}",
            f"name a folder that {account.name} may enter",
        )
    return Place(home, account, notice)


def _link(link: Path, among: Path) -> None:
    """Make `link` lead to a new folder in `among`; the first one wins."""
    name = re.sub(r"[^\w.-]+", "-", str(link.parent), flags=re.ASCII).strip("-")[-60:]
    home = Path(tempfile.mkdtemp(prefix=f"{name}-", dir=among))
    home.chmod(_ENTERED_BY_NAME)
    try:
        link.symlink_to(home)
    except FileExistsError:
        home.rmdir()


def _make(folder: Path, account: Account) -> None:
    """Make `folder`, closed to others; one that was there stays as it is."""
    new = [path for path in (folder, *folder.parents) if not path.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    for path in new:
        path.chmod(_ENTERED_BY_NAME if account.switched else stat.S_IRWXU)


def refuge(account: Account) -> Path:
    """Return a folder of root's that the server's account can enter."""
    for folder in REFUGES:
        try:
            with suppress(FileExistsError):
                folder.mkdir()
                folder.chmod(_ENTERED_BY_NAME)  # mkdir's mode is cut by the umask
            told = folder.lstat()
        except OSError:
            continue
        safe = stat.S_ISDIR(told.st_mode) and told.st_uid == os.geteuid()
        if safe and not told.st_mode & _OPEN_TO_OTHERS and account.may_use(folder):
            return folder
    raise ConfigurationError(
        _SETTING,
        f"user {account.name}, who runs PostgreSQL for root, may not enter it",
        f"name a folder that {account.name} may enter",
    )


EPHEMERAL_PREFIX: Final = f"counterfoil-ephemeral-{os.geteuid()}-"
"""What the folders of clusters without durability begin with."""


def unnamed_place() -> Place:
    """Return a place that nobody looks for yet: its name is still hidden."""
    account = account_for(Path("/nonexistent"))
    home = Path(
        tempfile.mkdtemp(prefix=f".{EPHEMERAL_PREFIX}", dir=_temporary(account))
    )
    home.chmod(_ENTERED_BY_NAME if account.switched else stat.S_IRWXU)
    return Place(home, account)


def ephemeral_places() -> Iterator[Place]:
    """Return the places of our clusters without durability, used or left over."""
    folder = _temporary(account_for(Path("/nonexistent")))
    for home in folder.glob(f"{EPHEMERAL_PREFIX}*"):
        with suppress(FileNotFoundError):  # removed by its user meanwhile
            told = home.lstat()
            if stat.S_ISDIR(told.st_mode) and told.st_uid == os.geteuid():
                yield Place(home, account_for(home / "data"))


def _temporary(account: Account) -> Path:
    folder = Path(tempfile.gettempdir()).resolve()
    return folder if account.may_use(folder) else Path("/tmp")  # noqa: S108 - entered through names that cannot be guessed


def _fits(folder: Path) -> bool:
    """Return whether a socket in `folder` needs no care anywhere.

    Blanks, commas and quotes mean something in `unix_socket_directories` or in
    a connection string.
    """
    path = str(folder / f".s.PGSQL.{PORT}")
    return len(os.fsencode(path)) <= _SOCKET_BYTES and bool(_PLAIN.fullmatch(path))
