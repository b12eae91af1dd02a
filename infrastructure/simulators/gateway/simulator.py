"""A whole gateway in this process: ledger, dialects, faults, holds, HTTP server."""

import contextlib
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from infrastructure.simulators.gateway.blind import Blind
from infrastructure.simulators.gateway.control import Control
from infrastructure.simulators.gateway.exchange import Exchange
from infrastructure.simulators.gateway.faults import FaultPlan
from infrastructure.simulators.gateway.gateway import Clock, Gateway, current_ms
from infrastructure.simulators.gateway.holds import Hold, Holds
from infrastructure.simulators.gateway.keyed import Keyed
from infrastructure.simulators.gateway.ledger import (
    LedgerEffect,
    LedgerRequest,
    effects,
    open_ledger,
    requests,
)
from infrastructure.simulators.gateway.server import HOST, Server
from infrastructure.simulators.gateway.signing import secret_bytes
from infrastructure.simulators.gateway.store import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewaySettings:
    """How a gateway sells."""

    token: str
    """Of both dialects: the Basic password and the Bearer token."""
    balance_minor: int = 1_000_000_000
    """The buyer's money in a new ledger."""
    currency: str = "USD"
    star_minor: int = 1
    """Price of one star in the blind dialect; in the other one the buyer names it."""
    month_minor: int = 100
    """Price of one month of premium in the blind dialect."""
    key_lifetime_seconds: float = 86_400.0
    """How long a key is honoured."""
    callback_secret: str | None = None
    """`whsec_…`; None: the gateway makes no callbacks."""

    def __post_init__(self) -> None:
        """Refuse a secret that signs nothing.

        Raises:
            SecretError: it has another form.
        """
        if self.callback_secret is not None:
            secret_bytes(self.callback_secret)


class GatewaySimulator:
    """A gateway on a ledger; listens from `start` (or `with`) until `close`."""

    def __init__(
        self,
        *,
        ledger: Path,
        settings: GatewaySettings,
        port: int = 0,
        clock: Clock = current_ms,
    ) -> None:
        """Open the ledger and go on from what it holds; take the port, 0: a free one.

        Raises:
            LedgerInUseError: another simulator writes that ledger.
            OSError: the port is taken.
        """
        self.faults: Final = FaultPlan()
        self._ledger: Final = ledger
        self._is_closed = False
        self._holds: Final = Holds()
        store = Store(ledger, settings.balance_minor)
        try:
            self._gateway: Final = Gateway(
                store,
                clock=clock,
                key_lifetime_seconds=settings.key_lifetime_seconds,
                callback_secret=settings.callback_secret,
            )
            self._server: Final = self._listening(port, settings)
        except BaseException:
            store.close()
            raise

    def _listening(self, port: int, settings: GatewaySettings) -> Server:
        gateway = self._gateway
        dialects = (
            Blind(
                token=settings.token,
                star_minor=settings.star_minor,
                month_minor=settings.month_minor,
                currency=settings.currency,
            ),
            Keyed(gateway, settings.token, settings.currency),
        )
        return Server(
            port,
            Exchange(gateway, dialects, self.faults, self._holds),
            Control(gateway, self.faults, self._holds),
            tick=gateway.pass_time,
        )

    @property
    def port(self) -> int:
        """The port it listens on."""
        return self._server.port

    @property
    def url(self) -> str:
        """The base URL of the gateway."""
        return f"http://{HOST}:{self.port}"

    def start(self) -> None:
        """Answer requests from now on."""
        self._server.start()

    def close(self) -> None:
        """Stop listening, finish requests in flight, close the ledger."""
        if self._is_closed:
            return
        self._is_closed = True
        self._holds.drop_all()
        self._server.close()
        self._gateway.close()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def hold(self, point: str, match: str = "") -> Hold:
        """Stop the next such request there; see `holds`."""
        return self._holds.add(point, match)

    def complete(self, name: str, state: str) -> None:
        """End the accepted purchase of that key or reference.

        Raises:
            LookupError: there is none.
        """
        if not self._gateway.complete(name, state):
            msg = f"no accepted purchase {name}"
            raise LookupError(msg)

    def set_balance(self, minor: int) -> None:
        """Set how much of the buyer's money is left."""
        self._gateway.set_balance(minor)

    def callbacks(self, key: str | None = None) -> list[dict[str, object]]:
        """Return the callbacks so far, signed at this moment."""
        return self._gateway.callbacks(key)

    def requests(self) -> list[LedgerRequest]:
        """Return every request so far, in order."""
        with contextlib.closing(open_ledger(self._ledger)) as ledger:
            return requests(ledger)

    def effects(self) -> list[LedgerEffect]:
        """Return everything handed over so far, in order."""
        with contextlib.closing(open_ledger(self._ledger)) as ledger:
            return effects(ledger)
