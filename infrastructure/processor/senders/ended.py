"""Whether a sender has ended, as far as this process can prove it."""

import os
from pathlib import Path
from typing import Final

from domain.goods.events import Sender
from infrastructure.processor.senders.identity import (
    UNKNOWN,
    started_of,
    stat_of,
    this_machine,
)

PROCESS_GONE: Final = "process_gone"
"""No process has its number, or one that was started at another time."""

_DEAD: Final = frozenset({"Z", "X"})


def has_ended(sender: Sender) -> bool:
    """Whether it is proved that the sender has ended.

    False says nothing: it may live, or be beyond what can be seen from here.
    """
    machine = this_machine()
    if machine == UNKNOWN or sender.machine != machine:
        return False
    try:
        os.kill(sender.pid, 0)
    except ProcessLookupError:
        return True
    except OSError:
        pass  # it exists, and is somebody else's
    started = started_of(sender.pid)
    if started is None:
        return False  # hidden from us, or gone in this very moment
    return started != sender.started or _is_remains(sender.pid)


def _is_remains(pid: int) -> bool:
    """Whether all of a process has ended, and only nobody has asked how.

    Its first thread may have ended alone, while another one still writes.
    """
    state, *_ = stat_of(pid) or [""]
    if state not in _DEAD:
        return False
    try:
        return len(list(Path(f"/proc/{pid}/task").iterdir())) <= 1
    except OSError:
        return False
