"""The simulator as a program of its own, until SIGTERM or SIGINT."""

from collections.abc import Callable
from pathlib import Path

from infrastructure.simulators.gateway.faults import FAULT_NAMES, Share
from infrastructure.simulators.gateway.simulator import (
    GatewaySettings,
    GatewaySimulator,
)
from infrastructure.simulators.stop_signal import stop_signal


def serve(  # noqa: PLR0913 - the options of the command, one to one
    *,
    port: int,
    ledger: Path,
    settings: GatewaySettings,
    fault_rate: float = 0.0,
    fault_names: tuple[str, ...] = (),
    seed: int = 0,
    ready: Callable[[int], None] | None = None,
) -> None:
    """Run a gateway in the main thread's process until it is asked to stop.

    `ready` is told the port once connections are accepted (port 0: a free one).  In
    `fault_rate` of all purchases one of the named faults strikes; none named: any.

    Raises:
        LedgerInUseError: another simulator writes that ledger.
        FaultError: an unknown fault, or a rate outside 0 to 1.
        OSError: the port is taken.
    """
    share = None
    if fault_rate:
        share = Share(fault_rate, fault_names or FAULT_NAMES, seed)
    with stop_signal() as stop:
        simulator = GatewaySimulator(ledger=ledger, settings=settings, port=port)
        simulator.faults.set(share=share, seed=seed)
        with simulator:
            if ready is not None:
                ready(simulator.port)
            stop.wait()
