"""A cell: the process in which one suspect runs alone.

It makes the kinds anew, with connections of its own, runs one handler in its main
thread, tells the ending and is gone.  What only the holder of the lease knows, it asks.
"""

import contextlib
import importlib
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Final, NoReturn, cast
from uuid import UUID

import msgspec

from application.job_kinds import Kinds
from domain.event import JsonObject
from domain.jobs.verdict import Ending, Unfit
from domain.text import clean, storable
from infrastructure.errors import said
from infrastructure.processor.claimed import ClaimedJob
from infrastructure.processor.leases import Held
from infrastructure.processor.running import decoded, handled, progress_text, tell
from infrastructure.processor.suspects.endings import told
from infrastructure.processor.suspects.kin import die_with_parent
from infrastructure.processor.suspects.wire import (
    Answer,
    Ask,
    Began,
    Log,
    Progress,
    Recipe,
    Task,
    Unready,
    Wire,
    WireError,
)
from infrastructure.telemetry import Value, listen

_FIRST_TO_DIE: Final = "1000"
"""When memory runs out, the kernel ends a cell and not its worker."""


def enter(end: socket.socket, keeper: int) -> None:
    """Live as the cell of the process `keeper`; the process ends here."""
    code = os.EX_SOFTWARE
    try:
        _settle_in(keeper)
        _live(Wire(end))
        code = os.EX_OK
    except WireError:
        pass  # nobody is left who could be told
    finally:
        _leave(code)


def _leave(code: int) -> NoReturn:
    """End with whatever a handler has left behind: threads, pools, exit functions."""
    with contextlib.suppress(Exception):  # it may have closed them, or taken them away
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code)


def _settle_in(keeper: int) -> None:
    os.setsid()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    die_with_parent()
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(_FIRST_TO_DIE, encoding="ascii")
    if os.getppid() != keeper:
        _leave(os.EX_SOFTWARE)  # it ended before the kernel was told


def _live(wire: Wire) -> None:
    task = msgspec.json.decode(wire.wait(), type=Task)
    relay = _Relay(wire)
    with listen(relay.log), contextlib.ExitStack() as making:
        try:
            kinds = making.enter_context(_made(task.recipe))
            held = Held(task.job, kinds[task.job.kind], float("inf"))
        except BaseException as error:  # noqa: BLE001 - whatever the making of the kinds raises: the job is not to blame
            wire.send(Unready(storable(said(error))))
            _leave(os.EX_OK)
        wire.send(Began())
        wire.send(told(_run(held, relay)))
        # Not out of the block: closing pools may take longer than the run.
        _leave(os.EX_OK)


def _run(held: Held, relay: "_Relay") -> Ending:
    args = decoded(held)
    if isinstance(args, Unfit):
        return args
    return handled(held, args, CellContext(held, relay))


@contextlib.contextmanager
def _made(recipe: Recipe) -> Generator[Kinds]:
    found = getattr(importlib.import_module(recipe.module), recipe.function)
    make = cast("Callable[[str], AbstractContextManager[Kinds]]", found)
    with make(recipe.text) as kinds:
        yield kinds


class _Relay:
    """Asks and tells for the handler's threads; an answer finds its question."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self._asking = threading.Lock()

    def ask(self, question: Ask) -> float:
        with self._asking:
            self._wire.send(question)
            return msgspec.json.decode(self._wire.wait(), type=Answer).value

    def show(self, value: JsonObject) -> None:
        self._wire.send(Progress(msgspec.json.decode(progress_text(value))))

    def log(self, event: str, values: dict[str, str | float | bool | None]) -> None:
        # On the wire texts must be UTF-8 already.
        told = {clean(name): _cleaned(value) for name, value in values.items()}
        self._wire.send(Log(clean(event), told))


def _cleaned(value: Value) -> Value:
    return clean(value) if isinstance(value, str) else value


class CellContext:
    """See `application.context.Context`; the lease is the worker's."""

    def __init__(self, held: Held, relay: _Relay) -> None:
        """Serve the handler of `held`."""
        self._held = held
        self._relay = relay

    @property
    def _job(self) -> ClaimedJob:
        return self._held.job

    @property
    def job_id(self) -> UUID:
        """See `Context.job_id`."""
        return self._job.id

    @property
    def tenant_id(self) -> str:
        """See `Context.tenant_id`."""
        return self._job.tenant_id

    @property
    def correlation_id(self) -> str:
        """See `Context.correlation_id`."""
        return self._job.correlation_id

    @property
    def attempt(self) -> int:
        """See `Context.attempt`."""
        return self._job.attempt

    @property
    def token(self) -> int:
        """See `Context.token`."""
        return self._job.token

    @property
    def cancel_requested(self) -> bool:
        """See `Context.cancel_requested`."""
        return self._relay.ask(Ask("cancel_requested")) > 0

    @property
    def seconds_left(self) -> float:
        """See `Context.seconds_left`."""
        return self._relay.ask(Ask("seconds_left"))

    def may_begin(self) -> bool:
        """See `Context.may_begin`."""
        may = self._relay.ask(Ask("may_begin")) > 0
        self._held.called_provider |= may
        return may

    def progress(self, value: JsonObject) -> None:
        """See `Context.progress`."""
        self._relay.show(value)

    def log(self, event: str, /, **values: str | float | bool | None) -> None:
        """See `Context.log`."""
        tell(self._job, event, values)
