"""A password that a person gives: by a pipe or a prompt, never as an argument.

Arguments are seen by everybody on the machine, and kept in the shell's history.
"""

import sys

import rich_click as click

from domain.access.people import LONGEST_TYPED
from domain.members import invalid

_LONGEST_BYTES = 4 * LONGEST_TYPED


def password_given() -> str:
    """Return the password that a person gives, the end of its line left out.

    Raises:
        InvalidRequestError: it is no text; it is not repeated.
    """
    if sys.stdin.isatty():
        asked: str = click.prompt(
            "password", hide_input=True, confirmation_prompt=True, err=True
        )
        return asked
    try:
        read = sys.stdin.buffer.read(_LONGEST_BYTES + 1).decode()
    except UnicodeDecodeError:
        invalid("password", "text of UTF-8")
    return read.removesuffix("\n").removesuffix("\r")
