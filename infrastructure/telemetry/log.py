"""Emit structured events; the only place that decides how a log line looks.

Values are ids, codes, counts and redacted texts, never payloads or secrets (I12).
Listeners see every event as it happens; tests wait for them instead of sleeping.
"""

import contextlib
import json
import os
import sys
import threading
import time
from collections.abc import Callable, Generator

type Value = str | float | bool | None
type Listener = Callable[[str, dict[str, Value]], None]

_listeners: list[Listener] = []
_lock = threading.Lock()


def emit(event: str, **values: Value) -> None:
    """Tell every listener that `event` happened."""
    for listener in tuple(_listeners):
        listener(event, values)


@contextlib.contextmanager
def listen(listener: Listener) -> Generator[None]:
    """Let `listener` hear every event inside the block."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


def show(event: str, values: dict[str, Value]) -> None:
    """Write the event as one JSON line on standard error."""
    at = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime())
    line = json.dumps({"at": at + "Z", "pid": os.getpid(), "event": event} | values)
    with _lock, contextlib.suppress(OSError, ValueError):
        # A closed terminal must not end the worker.
        sys.stderr.write(line + "\n")
        sys.stderr.flush()
