"""Secrets that a person gives: from a file, a pipe or a prompt, never an argument.

Arguments are seen by everybody on the machine, and kept in the shell's history.
"""

import sys
from pathlib import Path

import rich_click as click

from api.cli.options import FILE, Decorator, option
from application.providers.credential import (
    LONGEST,
    Credential,
    credential_of,
    token_of,
    written,
)


def from_file(what: str) -> Decorator:
    """Return the option that names a file with `what`."""
    return option(
        "--file",
        "file",
        type=FILE,
        help=f"Holds {what}; left out: standard input, on a terminal a prompt.",
    )


def credential_given(file: Path | None) -> Credential:
    """Return the credential that a person gives.

    Raises:
        InvalidRequestError: it is none; nothing of it is repeated.
    """
    if file is None and sys.stdin.isatty():
        return credential_of(
            written(
                base_url=_asked("address, like https://HOST"),
                token=_asked("token", is_secret=True),
                currency=_asked("currency, like EUR", is_needed=False),
                webhook_secret=_asked(
                    "secret of its callbacks", is_secret=True, is_needed=False
                ),
            )
        )
    return credential_of(_read(file))


def token_given(file: Path | None) -> str:
    """Return the token that a person gives.

    Raises:
        InvalidRequestError: it cannot be one; nothing of it is repeated.
    """
    if file is None and sys.stdin.isatty():
        return token_of(_asked("new token", is_secret=True))
    return token_of(_read(file).decode("latin-1").strip())


def _read(file: Path | None) -> bytes:
    if file is None:
        return sys.stdin.buffer.read(LONGEST + 1)
    with file.open("rb") as opened:
        return opened.read(LONGEST + 1)


def _asked(what: str, *, is_secret: bool = False, is_needed: bool = True) -> str | None:
    told: str = click.prompt(
        what if is_needed else f"{what} (empty: none)",
        default=None if is_needed else "",
        show_default=False,
        hide_input=is_secret,
        err=True,
    )
    return told.strip() or None
