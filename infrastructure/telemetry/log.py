"""Emit structured events; the only place that decides how a log line looks.

Values are ids, codes, counts and redacted texts, never payloads or secrets (I12); what
a handler writes is redacted here.

Listeners see every event as it happens; tests wait for them instead of sleeping.
"""

import contextlib
import io
import json
import math
import os
import sys
import threading
import time
import weakref
from collections.abc import Callable, Generator
from typing import Final, TextIO

from domain.masking import MASK, is_secret
from domain.text import cut, veiled
from infrastructure.telemetry.levels import level_of

_CHARACTERS: Final = 2_000
_BOUND: Final = 40_000
_SHORTEST_CARD: Final = 10**12

type Value = str | float | bool | None
type Listener = Callable[[str, dict[str, Value]], None]

_listeners: list[Listener] = []
_lock = threading.Lock()


def emit(event: str, /, **values: Value) -> None:
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
    ours = {
        "at": at + "Z",
        "pid": os.getpid(),
        "level": level_of(event),
        "event": event,
    }
    # First and last: what a handler names alike must not stand for what we say.
    line = json.dumps(ours | _fit(values) | ours)
    error: object = sys.stderr
    with _lock, contextlib.suppress(OSError, ValueError):
        # A closed terminal must not end the worker, and there may be none at all.
        if error is not None and _is_still_itself(sys.stderr):
            sys.stderr.write(line + "\n")
            sys.stderr.flush()


def _fit(values: dict[str, Value]) -> dict[str, Value]:
    """Return the values as they may be shown; a handler's names are texts too."""
    return {veiled(name): _shown(name, value) for name, value in values.items()}


def _shown(name: str, value: Value) -> Value:
    if isinstance(value, str):
        # Bounded, so that the patterns do not take seconds.
        return MASK if is_secret(name) else cut(veiled(value[:_BOUND]), _CHARACTERS)
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)  # JSON has no number for it
    if isinstance(value, int) and abs(value) >= _SHORTEST_CARD:
        return veiled(str(value))
    return value


_files: weakref.WeakKeyDictionary[TextIO, tuple[int, int]] = weakref.WeakKeyDictionary()


def _is_still_itself(stream: TextIO) -> bool:
    """Whether a stream is what it was when it was first written to.

    A handler may have closed its descriptor: the next connection to the database gets
    the number, and must not be told our log.
    """
    try:
        status = os.fstat(stream.fileno())
    except io.UnsupportedOperation:
        return True  # no file at all: nobody else can get its number
    now = (status.st_dev, status.st_ino)
    return _files.setdefault(stream, now) == now
