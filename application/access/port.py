"""What the edge asks before it asks a use case: who is it, and how often may they.

Nothing is cached: whoever is disabled, and whatever was revoked or taken from a role,
has lost it by the next request.
"""

from typing import Protocol

import msgspec

from application.access.principal import Principal
from domain.access.audience import Audience
from domain.access.permissions import Permission
from domain.access.rates import Allowance


class Session(msgspec.Struct, frozen=True, kw_only=True):
    """A person who has signed in, by the cookie of that."""

    principal: Principal
    csrf: str
    """What `X-CSRF-Token` has to be for every request that changes something."""
    partition: str
    """Of the limiter: this session's."""


class Authenticate(Protocol):
    """Tells who somebody is by what they show."""

    def token(self, text: str, audience: Audience, address: str) -> Principal | None:
        """Return whose token that is; None: no live one for that audience.

        `address` is where the request comes from, for tokens that may be used from
        some places alone.

        Raises:
            DatabaseUnavailableError: nobody knows.
        """
        ...

    def session(self, cookie: str, *, is_use: bool = True) -> Session | None:
        """Return who has signed in by that cookie; None: nobody, or not any more.

        A session that nobody uses grows idle, and ends; `is_use` False only looks.

        Raises:
            DatabaseUnavailableError: nobody knows.
        """
        ...


class Limiter(Protocol):
    """Counts requests by who asks; whatever happens to it, it never raises."""

    def take(self, partition: str) -> Allowance:
        """Count one request of the partition: `Principal.partition` or a session's."""
        ...


class Refuse(Protocol):
    """Puts on record what somebody known asked for and may not do."""

    def __call__(
        self,
        principal: Principal,
        permission: Permission,
        asked: str,
        request_id: str | None,
    ) -> None:
        """Commit `operator.action_refused`; `asked` is method and template of a route.

        Raises:
            DatabaseUnavailableError: it is not known to be recorded.
        """
        ...
