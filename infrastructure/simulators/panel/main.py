"""The simulator as a program of its own, until SIGTERM or SIGINT."""

import contextlib
import signal
import threading
from collections.abc import Callable, Generator
from pathlib import Path
from types import FrameType

from infrastructure.simulators.panel.faults import FAULT_NAMES, Rotation
from infrastructure.simulators.panel.simulator import PanelSimulator


def serve(  # noqa: PLR0913 - the options of the command, one to one
    *,
    port: int,
    book: Path,
    token: str,
    fault_rate: float = 0.0,
    fault_names: tuple[str, ...] = (),
    seed: int = 0,
    latency_ms: float = 0.0,
    require_forwarded: bool = True,
    squads: tuple[tuple[str, str], ...] = (),
    ready: Callable[[int], None] | None = None,
) -> None:
    """Run a panel in the main thread's process until it is asked to stop.

    `ready` is told the port once connections are accepted (port 0: a free one). In
    `fault_rate` of all requests the named faults strike in turn; none named: all.

    Raises:
        BookInUseError: another simulator writes that book.
        FaultError: an unknown fault, or a rate outside 0 to 1.
        OSError: the port is taken.
    """
    rotation = None
    if fault_rate:
        rotation = Rotation(fault_rate, fault_names or FAULT_NAMES, seed)
    with _stop_signal() as stop:
        simulator = PanelSimulator(
            book=book,
            token=token,
            port=port,
            require_forwarded=require_forwarded,
            squads=squads,
        )
        simulator.faults.set(rotation=rotation, latency_ms=latency_ms)
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
