"""The simulator as a program of its own, until SIGTERM or SIGINT."""

from collections.abc import Callable
from pathlib import Path

from infrastructure.simulators.panel.faults import FAULT_NAMES, Rotation
from infrastructure.simulators.panel.simulator import PanelSimulator
from infrastructure.simulators.stop_signal import stop_signal


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
    with stop_signal() as stop:
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
