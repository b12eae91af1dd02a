"""`counterfoil worker` with traps: it dies, or stands still, at named points.

    BUYER_TRAPS=FOLDER python -m tests.crash.goods.buyer worker --only jobs

FOLDER/plan.json says for which order or delivery, at which point, what happens:

    {"<id>": ["<point>", "kill" | "stop" | "wait"], …}

 claimed     its job is claimed, nothing is decided          (the handler begins)
 deciding    transaction 1 is about to begin
 submitting  inside transaction 1, the heads are locked
 submitted   transaction 1 was seen; the journal has no line yet
 journalled  the line is on the disk; nothing is connected yet
 sending     the guard has said yes for the last time; directly before the socket write
 sent        the whole request is written; nothing was read yet
 answered    the answer is known; nothing of it is recorded
 settling    inside transaction 2, the heads are locked

With BUYER_WITHOUT_CELLS set, suspects run alone, but in no process of their own.

Each trap springs once, however many processes come by: whoever makes its file,
FOLDER/<id>, is caught.  `kill` is a SIGKILL of the process by itself, `stop` a SIGSTOP;
`wait` goes on when FOLDER/<id>.go is there.
"""

import json
import os
import re
import signal
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from httpcore._backends.sync import SyncStream  # where bytes leave the process

import infrastructure.bootstrap as root
from api.__main__ import main
from application.goods import asking
from application.goods.deliver import DeliverGoods
from application.goods.submission import Submission
from domain.goods.state import GoodsDelivery
from infrastructure.guards.journal import FileJournal
from infrastructure.processor import settling
from infrastructure.processor.worker import WorkerOptions

POINTS = (
    "claimed",
    "deciding",
    "submitting",
    "submitted",
    "journalled",
    "sending",
    "sent",
    "answered",
    "settling",
)
KEY = re.compile(rb"x-request-id: goods:([0-9a-f-]{36})", re.IGNORECASE)


class Traps:
    """The plan, and who was caught."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._plan: dict[str, list[str]] = json.loads(
            (folder / "plan.json").read_text()
        )

    def reached(self, name: object, point: str) -> None:
        """Spring the trap of that name at that point, if there is one still."""
        planned = self._plan.get(str(name))
        if planned is None or planned[0] != point:
            return
        file = self._folder / str(name)
        try:
            with file.open("x") as caught:
                caught.write(str(os.getpid()))
        except FileExistsError:
            return
        match planned[1]:
            case "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            case "stop":
                # To this very thread: sent to the process, another one may take it,
                # and this one writes on for a moment.
                signal.pthread_kill(threading.get_ident(), signal.SIGSTOP)
            case _:
                while not file.with_suffix(".go").exists():
                    time.sleep(0.005)


type Find = Callable[[Sequence[Any]], object]
"""Returns by the arguments of a call which order or delivery it is about."""


def _of_key(key: str) -> str:
    return key.split(":")[1]


def _settled(args: Sequence[Any]) -> object:
    """Return the order whose delivery a handler has changed."""
    change = args[1]
    is_told = isinstance(change.state, GoodsDelivery) and change.events
    return change.state.order if is_told else None


BEFORE: tuple[tuple[Any, str, str, Find], ...] = (
    (DeliverGoods, "__call__", "claimed", lambda args: args[1].delivery_id),
    (DeliverGoods, "_submitted", "deciding", lambda args: args[1].order),
    (Submission, "__call__", "submitting", lambda args: args[0].story.order),
    (FileJournal, "write", "submitted", lambda args: _of_key(args[1])),
    (settling, "standing", "settling", _settled),
)
AFTER: tuple[tuple[Any, str, str, Find], ...] = (
    (FileJournal, "write", "journalled", lambda args: _of_key(args[1])),
    (asking, "submit", "answered", lambda args: _of_key(args[1].key)),
)


def set_traps(traps: Traps) -> None:
    """Put the traps around the product's own functions."""
    for owner, name, point, find in BEFORE:
        setattr(owner, name, _before(traps, getattr(owner, name), point, find))
    for owner, name, point, find in AFTER:
        setattr(owner, name, _after(traps, getattr(owner, name), point, find))
    _set_wire_traps(traps)


def _before(
    traps: Traps, function: Callable[..., Any], point: str, find: Find
) -> Callable[..., Any]:
    def trapped(*args: Any) -> Any:  # noqa: ANN401 - those of the function
        traps.reached(find(args), point)
        return function(*args)

    return trapped


def _after(
    traps: Traps, function: Callable[..., Any], point: str, find: Find
) -> Callable[..., Any]:
    def trapped(*args: Any) -> Any:  # noqa: ANN401 - those of the function
        answer = function(*args)
        traps.reached(find(args), point)
        return answer

    return trapped


def _set_wire_traps(traps: Traps) -> None:
    write, read = SyncStream.write, SyncStream.read
    asked: dict[int, str] = {}

    def trapped_write(self: SyncStream, buffer: bytes, timeout: float | None) -> None:
        found = KEY.search(buffer)
        if found is not None and buffer.startswith(b"POST"):
            order = found[1].decode()
            traps.reached(order, "sending")
            asked[id(self)] = order
        write(self, buffer, timeout)

    def trapped_read(self: SyncStream, most: int, timeout: float | None) -> bytes:
        order = asked.pop(id(self), None)
        if order is not None:
            traps.reached(order, "sent")
        return read(self, most, timeout)

    SyncStream.write = trapped_write  # type: ignore[method-assign,assignment]
    SyncStream.read = trapped_read  # type: ignore[method-assign,assignment]


if __name__ == "__main__":
    set_traps(Traps(Path(os.environ["BUYER_TRAPS"])))

    # The tests' patience is shorter than the product's.
    def impatient(**options: Any) -> WorkerOptions:  # noqa: ANN401 - its own
        if "BUYER_WITHOUT_CELLS" in os.environ:
            options["suspects"] = None
        return WorkerOptions(**options, rescue_seconds=0.2)

    setattr(root, "WorkerOptions", impatient)  # noqa: B010 - it is not the module's own
    main()
