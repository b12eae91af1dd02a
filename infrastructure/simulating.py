"""The simulators as the command line starts them, their errors in our words."""

import sqlite3
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

from infrastructure.errors import InfrastructureError
from infrastructure.simulators.gateway import main as gateway
from infrastructure.simulators.gateway.faults import FAULT_NAMES as GATEWAY_FAULTS
from infrastructure.simulators.gateway.signing import SecretError
from infrastructure.simulators.gateway.simulator import GatewaySettings
from infrastructure.simulators.gateway.store import LedgerInUseError
from infrastructure.simulators.panel import main as panel
from infrastructure.simulators.panel.faults import FAULT_NAMES as PANEL_FAULTS
from infrastructure.simulators.panel.store import BookInUseError


class Simulators:
    """See `api.simulators.Simulators`."""

    panel_faults: tuple[str, ...] = PANEL_FAULTS
    gateway_faults: tuple[str, ...] = GATEWAY_FAULTS

    def simulate_panel(  # noqa: PLR0913 - the options of the command, one to one
        self,
        *,
        port: int,
        book: Path,
        token: str,
        fault_rate: float,
        faults: tuple[str, ...],
        seed: int,
        latency_ms: float,
        squads: tuple[tuple[str, str], ...],
        ready: Callable[[int], None],
    ) -> None:
        """See `api.simulators.Simulators.simulate_panel`."""
        with _in_our_words(port, f"book {book}"):
            panel.serve(
                port=port,
                book=book,
                token=token,
                fault_rate=fault_rate,
                fault_names=faults,
                seed=seed,
                latency_ms=latency_ms,
                squads=squads,
                ready=ready,
            )

    def simulate_gateway(  # noqa: PLR0913 - the options of the command, one to one
        self,
        *,
        port: int,
        ledger: Path,
        token: str,
        balance_minor: int,
        callback_secret: str | None,
        fault_rate: float,
        faults: tuple[str, ...],
        seed: int,
        ready: Callable[[int], None],
    ) -> None:
        """See `api.simulators.Simulators.simulate_gateway`."""
        with _in_our_words(port, f"ledger {ledger}"):
            settings = GatewaySettings(
                token=token,
                balance_minor=balance_minor,
                callback_secret=callback_secret,
            )
            gateway.serve(
                port=port,
                ledger=ledger,
                settings=settings,
                fault_rate=fault_rate,
                fault_names=faults,
                seed=seed,
                ready=ready,
            )


@contextmanager
def _in_our_words(port: int, file: str) -> Generator[None]:
    try:
        yield
    except OSError as error:
        msg = f"port {port}: {error.strerror}; choose another one"
        raise InfrastructureError(msg) from error
    except SecretError as error:
        raise InfrastructureError(str(error)) from error
    except (BookInUseError, LedgerInUseError, sqlite3.Error) as error:
        msg = f"{file}: {error}; choose another file"
        raise InfrastructureError(msg) from error
