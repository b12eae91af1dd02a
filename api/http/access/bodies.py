"""What is asked of people and tokens."""

from typing import Annotated, Literal, override

import msgspec

from application.access.tokens import DEFAULT_DAYS
from domain.access.people import LONGEST_TYPED, SHORTEST_PASSWORD
from domain.access.permissions import Permission
from domain.access.roles import Role
from domain.access.tokens import LONGEST_DAYS, MOST_PLACES

type TokenName = Annotated[
    str,
    msgspec.Meta(
        pattern="^[a-z0-9][a-z0-9._-]*$",
        max_length=64,
        description="What the audit calls the program; no other live token has it",
        examples=["webshop"],
    ),
]
type PersonName = Annotated[
    str,
    msgspec.Meta(
        pattern="^[a-z0-9][a-z0-9._@+-]*$",
        max_length=64,
        description="What they sign in by; nobody else in the installation has it",
        examples=["grace"],
    ),
]


class SignInBody(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    rename="camel",
    forbid_unknown_fields=True,
):
    """Who signs in."""

    name: Annotated[str, msgspec.Meta(max_length=256, examples=["grace"])]
    password: Annotated[
        str,
        msgspec.Meta(max_length=LONGEST_TYPED, examples=["a battery of horses"]),
    ]

    @override
    def __repr__(self) -> str:
        """Return nothing of it."""
        return "SignInBody(…)"


class PersonBody(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    rename="camel",
    forbid_unknown_fields=True,
):
    """Somebody new."""

    name: PersonName
    role: Role
    password: Annotated[
        str,
        msgspec.Meta(
            min_length=SHORTEST_PASSWORD,
            max_length=LONGEST_TYPED,
            examples=["a battery of horses"],
        ),
    ]

    @override
    def __repr__(self) -> str:
        """Return it without the password."""
        return f"PersonBody({self.name!r}, {self.role!r})"


class TokenBody(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    rename="camel",
    forbid_unknown_fields=True,
):
    """A token of a program."""

    name: TokenName
    surface: Literal["shop", "admin"]
    """What it opens: `/v1`, or `/v1/admin`."""
    scopes: Annotated[
        list[Permission], msgspec.Meta(min_length=1, max_length=len(Permission))
    ]
    expires_in_days: Annotated[int, msgspec.Meta(ge=1, le=LONGEST_DAYS)] = DEFAULT_DAYS
    allowed_from: Annotated[
        list[Annotated[str, msgspec.Meta(max_length=64, examples=["192.0.2.0/24"])]],
        msgspec.Meta(max_length=MOST_PLACES),
    ] = []
    """Networks that it may be used from; none: from everywhere."""
