"""What the token of a program looks like, and what it may be made with.

    ffl_<environment>_<id>_<secret>      id: 32, secret: 64 digits of base 16

Its beginning lets scanners find one that has leaked; nothing of it needs escaping.
"""

import re
from collections.abc import Sequence
from hashlib import sha256
from hmac import compare_digest
from ipaddress import ip_address, ip_network
from typing import Final, override
from uuid import UUID

import msgspec

from domain.access.permissions import Permission
from domain.members import invalid

SECRET_BYTES: Final = 32
LONGEST_DAYS: Final = 365
LONGEST_OVERLAP_SECONDS: Final = 7 * 86_400
MOST_PLACES: Final = 20
NAME: Final = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}", re.ASCII)
ENVIRONMENT: Final = re.compile(r"[a-z][a-z0-9]{0,15}", re.ASCII)
_TEXT: Final = re.compile(
    r"ffl_([a-z][a-z0-9]{0,15})_([0-9a-f]{32})_([0-9a-f]{64})", re.ASCII
)
_UNKNOWN: Final = bytes(SECRET_BYTES)
"""Stands for the digest of a token that nobody has; no secret is known to give it."""


class TokenText(msgspec.Struct, frozen=True, kw_only=True):
    """A token as a program shows it."""

    environment: str
    id: UUID
    secret: bytes

    @override
    def __repr__(self) -> str:
        """Return it without its secret."""
        return f"TokenText(environment={self.environment!r}, id={self.id})"

    def written(self) -> str:
        """Return the text that a program shows."""
        return f"ffl_{self.environment}_{self.id.hex}_{self.secret.hex()}"


def token_of(text: str) -> TokenText | None:
    """Return the token that is written so; None: no token looks like that."""
    found = _TEXT.fullmatch(text)
    if found is None:
        return None
    return TokenText(
        environment=found[1], id=UUID(hex=found[2]), secret=bytes.fromhex(found[3])
    )


def digest(secret: bytes) -> bytes:
    """Return what is kept of a secret; 256 random bits need no salt."""
    return sha256(secret).digest()


def is_any_of(secret: bytes, digests: Sequence[bytes]) -> bool:
    """Whether it is the secret of one of them, in a time that tells nobody which.

    None is compared as well, so that an unknown token takes as long.
    """
    shown = digest(secret)
    first, second = (*digests, _UNKNOWN, _UNKNOWN)[:2]
    is_first, is_second = compare_digest(shown, first), compare_digest(shown, second)
    return is_first or is_second


def may_come_from(address: str, places: Sequence[str]) -> bool:
    """Whether a token with these places may be used there; without any, everywhere."""
    if not places:
        return True
    try:
        came = ip_address(address)
    except ValueError:
        return False
    # An address of IPv4 that came over IPv6 is in networks of either.
    forms = (came, getattr(came, "ipv4_mapped", None) or came)
    return any(form in ip_network(place) for place in places for form in forms)


def check_name(name: str) -> str:
    """Return the name of a token.

    Raises:
        InvalidRequestError: it is none.
    """
    if not NAME.fullmatch(name) or is_id(name):
        invalid("name", "1 to 64 of a-z, 0-9, dot, - and _, no mark first, no id")
    return name


def is_id(key: str) -> bool:
    """Whether that is an id, so that no name is one."""
    try:
        UUID(key)
    except ValueError:
        return False
    return True


def check_days(days: int) -> int:
    """Return for how many days a token is given.

    Raises:
        InvalidRequestError: for none, or for too many.
    """
    if not 1 <= days <= LONGEST_DAYS:
        invalid("expiresInDays", f"1 to {LONGEST_DAYS} days")
    return days


def check_overlap(seconds: int) -> int:
    """Return for how long the secret before stays good beside the new one.

    Raises:
        InvalidRequestError: for too long.
    """
    if not 0 <= seconds <= LONGEST_OVERLAP_SECONDS:
        invalid("overlapSeconds", f"0 to {LONGEST_OVERLAP_SECONDS}")
    return seconds


def check_scopes(scopes: Sequence[str]) -> frozenset[Permission]:
    """Return the permissions of these words.

    Raises:
        InvalidRequestError: there is none, or one that does not exist.
    """
    if not scopes:
        invalid("scopes", "at least one permission")
    known = set(Permission)
    for n, scope in enumerate(scopes):
        if scope not in known:
            invalid(f"scopes[{n}]", "one of " + ", ".join(sorted(known)))
    return frozenset(map(Permission, scopes))


def check_places(places: Sequence[str]) -> tuple[str, ...]:
    """Return networks in their one form.

    Raises:
        InvalidRequestError: one of them is none, or there are too many.
    """
    if len(places) > MOST_PLACES:
        invalid("allowedFrom", f"at most {MOST_PLACES} networks")
    return tuple(dict.fromkeys(_place(n, place) for n, place in enumerate(places)))


def _place(n: int, place: str) -> str:
    try:
        return str(ip_network(place))
    except ValueError:
        invalid(f"allowedFrom[{n}]", "a network such as 192.0.2.0/24, or an address")
