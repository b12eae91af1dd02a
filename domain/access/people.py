"""What people may be called, and what their passwords may be."""

import re
from hashlib import sha256
from hmac import digest as hmac_digest
from ipaddress import IPv6Address, ip_address, ip_network
from typing import Final
from unicodedata import normalize

from domain.access.roles import Role
from domain.access.tokens import is_id
from domain.members import invalid

SHORTEST_PASSWORD: Final = 12
LONGEST_PASSWORD: Final = 256
LONGEST_TYPED: Final = 4 * LONGEST_PASSWORD
"""As a keyboard composes it, before it is told in its one form."""
_LEAST_LETTERS: Final = 5
"""That differ: fewer are soon guessed, however long it is."""
_NAME: Final = re.compile(r"[a-z0-9][a-z0-9._@+-]{0,63}", re.ASCII)
_COOKIE: Final = re.compile(r"[0-9a-f]{64}", re.ASCII)
_CSRF: Final = b"counterfoil.csrf.1"
_SITE_BITS: Final = 64
"""Of an address of IPv6: whoever has one has as many as fit behind it."""


def name_of(typed: str) -> str | None:
    """Return the name that somebody typed to sign in; None: nobody is called so."""
    name = typed.strip().lower()
    return name if _NAME.fullmatch(name) else None


def check_name(typed: str) -> str:
    """Return the name of a person.

    Raises:
        InvalidRequestError: nobody can be called so.
    """
    name = name_of(typed)
    if name is None or is_id(name):
        rule = "1 to 64 of a-z, 0-9, dot, -, _, @ and +, no mark first, no id"
        invalid("name", rule)
    return name


def check_role(word: str) -> Role:
    """Return the role of that word.

    Raises:
        InvalidRequestError: there is none.
    """
    if word not in set(Role):
        invalid("role", "one of " + ", ".join(Role))
    return Role(word)


def typed(password: str) -> str:
    """Return a password as it is hashed: the same however a keyboard composes it."""
    return normalize("NFKC", password)


def check_password(password: str, name: str) -> str:
    """Return a password that the person of that name may have, as it is hashed.

    Raises:
        InvalidRequestError: it is too short, too long or too easy; it is not repeated.
    """
    told = typed(password[:LONGEST_TYPED])
    if (
        len(password) > LONGEST_TYPED
        or not SHORTEST_PASSWORD <= len(told) <= LONGEST_PASSWORD
    ):
        rule = f"{SHORTEST_PASSWORD} to {LONGEST_PASSWORD} characters"
        invalid("password", rule)
    if len(set(told)) < _LEAST_LETTERS:
        invalid("password", f"at least {_LEAST_LETTERS} different characters")
    if name in told.lower() and len(name) > len(told) // 2:
        invalid("password", "something else than the name")
    return told


def session_secret(cookie: str) -> bytes | None:
    """Return the secret of a session's cookie; None: no session has such a one."""
    return bytes.fromhex(cookie) if _COOKIE.fullmatch(cookie) else None


def csrf_of(secret: bytes) -> str:
    """Return what proves that a page of ours has sent a request of the session.

    It is made of the cookie's own secret, so no copy of the database gives it away,
    and it ends with the session.
    """
    return hmac_digest(secret, _CSRF, "sha256").hex()


def site_of(address: str) -> str:
    """Return whose attempts count together: those of an address, or of its site."""
    try:
        came = ip_address(address)
    except ValueError:
        return address
    if isinstance(came, IPv6Address):
        if came.ipv4_mapped is not None:
            return str(came.ipv4_mapped)
        return str(ip_network((came, _SITE_BITS), strict=False))
    return str(came)


def counted(kind: str, key: str) -> bytes:
    """Return by what attempts are counted: nothing that was typed is kept."""
    return sha256(f"{kind}:{key}".encode(errors="replace")).digest()
