"""What the command line needs of the simulators; wired by infrastructure.simulating."""

from collections.abc import Callable
from pathlib import Path
from typing import Protocol


class Simulators(Protocol):
    """Stand-ins for providers, each running until a signal stops it."""

    @property
    def panel_faults(self) -> tuple[str, ...]:
        """The faults of a simulated panel."""
        ...

    @property
    def gateway_faults(self) -> tuple[str, ...]:
        """The faults of a simulated gateway."""
        ...

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
        """Run a simulated panel.

        Raises:
            InfrastructureError: the port is taken, or the book cannot be written.
        """
        ...

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
        """Run a simulated gateway of goods.

        Raises:
            InfrastructureError: the port is taken, the ledger cannot be written, or
                callbacks cannot be signed with the secret.
        """
        ...
