"""Variables of the environment, each read as what it should be, or refused.

A variable that is unset or empty is None.  Any of them may be read from a file instead,
as secrets of containers are: COUNTERFOIL_X_FILE names it.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict

from domain.access.tokens import ENVIRONMENT
from infrastructure.errors import ConfigurationError
from infrastructure.seals.key_ring import KeyRing, MalformedKeysError, key_ring_of

_PREFIX: Final = "COUNTERFOIL_"
_FILE: Final = "_FILE"
_LONGEST_FILE: Final = 65_536  # bytes; a ring of keys has a few hundred
_GREATEST: Final = 10_000
_PORT_DIGITS: Final = 5
_GREATEST_PORT: Final = 65_535
_SECRET_CHARACTERS: Final = 32  # fewer can be guessed
_DIGITS: Final = 9  # more are a mistake, and too many cost time to read
_PREFIX_CHARACTERS: Final = 20  # a panel's user name holds 36, ours adds 16 digits


class Environment:
    """Reads variables by the name that follows our prefix; empty means unset."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        """Take the variables of a process."""
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

    def word(self, name: str) -> str | None:
        """Return the variable as one word of 1 to 16 of a-z and 0-9."""
        value = self.text(name)
        if value is not None and not ENVIRONMENT.fullmatch(value):
            remedy = "use 1 to 16 of a-z and 0-9, a letter first"
            raise _wrong(name, f"{value[:40]!r} is no word", remedy)
        return value

    def long_secret(self, name: str) -> str | None:
        """Return the variable as a secret that nobody guesses; it is not repeated."""
        value = self.text(name)
        if value is not None and len(value) < _SECRET_CHARACTERS:
            remedy = f"give at least {_SECRET_CHARACTERS}: openssl rand -hex 32"
            raise _wrong(name, f"has {len(value)} characters", remedy)
        return value

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
