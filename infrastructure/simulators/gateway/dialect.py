"""What the two dialects have in common."""

import re
from typing import Final, Protocol

from infrastructure.simulators.gateway.gateway import Refused, Taken, Wanted
from infrastructure.simulators.gateway.wire import Reply, Request

STARS: Final = "telegram_stars"
PREMIUM: Final = "telegram_premium"
FEWEST_STARS: Final = 50
MONTHS: Final = frozenset({3, 6, 12})
USERNAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]{4,31}", re.ASCII)


class Dialect(Protocol):
    """How one kind of gateway is spoken to."""

    @property
    def name(self) -> str:
        """Its word in the ledger."""
        ...

    def action(self, request: Request) -> str | None:
        """Return what a request asks for; None: that is none of its routes."""
        ...

    def is_authorized(self, request: Request) -> bool:
        """Whether it carries the token."""
        ...

    def wanted(self, request: Request) -> Wanted | Reply:
        """Return what a request asks to buy, or why it is refused as it is."""
        ...

    def taken(self, taken: Taken) -> Reply:
        """Return what tells of a purchase."""
        ...

    def refused(self, refused: Refused) -> Reply:
        """Return what tells that nothing was bought."""
        ...

    def delivered(self, request: Request) -> Reply:
        """Return what claims that something was delivered which was not."""
        ...

    def failed(self, request: Request) -> Reply:
        """Return what claims that nothing was bought although it was."""
        ...

    def asked(self, action: str, request: Request) -> Reply:
        """Return the answer to a question that buys nothing."""
        ...
