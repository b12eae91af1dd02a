"""The simulator as a program of its own, until SIGTERM or SIGINT."""

import contextlib
import signal
import threading
from collections.abc import Callable, Generator
from pathlib import Path
from types import FrameType

from infrastructure.simulators.gateway.faults import FAULT_NAMES, Share
from infrastructure.simulators.gateway.simulator import (
    GatewaySettings,
    GatewaySimulator,
)


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
    with _stop_signal() as stop:
        simulator = GatewaySimulator(ledger=ledger, settings=settings, port=port)
        simulator.faults.set(share=share, seed=seed)
        with simulator:
            if ready is not None:
                ready(simulator.port)
            stop.wait()


@contextlib.contextmanager
def _stop_signal() -> Generator[threading.Event]:
    """Yield what SIGTERM and SIGINT set; the former handlers come back afterwards."""
    stop = threading.Event()

    def ask_to_stop(_number: int, _frame: FrameType | None) -> None:
        stop.set()

    former = {
        number: signal.signal(number, ask_to_stop)
        for number in (signal.SIGTERM, signal.SIGINT)
    }
    try:
        yield stop
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)
