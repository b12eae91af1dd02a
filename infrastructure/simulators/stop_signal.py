"""What asks a simulator that is a program of its own to stop."""

import contextlib
import signal
import threading
from collections.abc import Generator
from types import FrameType


@contextlib.contextmanager
def stop_signal() -> Generator[threading.Event]:
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
