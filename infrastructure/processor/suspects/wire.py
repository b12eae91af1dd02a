"""The wire between a worker and a cell: frames of JSON over a socket.

worker ──► cell    Task, then one Answer for each Ask
cell ──► worker    Began, Ask, Progress, Log, and at the end Ended or Unready

The worker believes nothing that comes out of a cell: a frame is bounded, its type is
checked, and nothing in it is run.
"""

import socket
import struct
import threading
from typing import Final, Literal
from uuid import UUID

import msgspec

from infrastructure.errors import InfrastructureError
from infrastructure.processor.claimed import ClaimedJob

LARGEST_FRAME: Final = 16 * 1024 * 1024
"""Of an outcome with all its changes; a result alone is bounded far below."""

SEND_SECONDS: Final = 5.0
"""A cell that does not read for so long is not waited for."""

_TOO_LARGE: Final = "the frame is too large"
_CHUNK: Final = 65_536
_LENGTH: Final = struct.Struct("!I")


class WireError(InfrastructureError):
    """The other end is gone, or says what nobody can understand."""

    code = "wire"


class Recipe(msgspec.Struct, frozen=True):
    """How another process makes the kinds of a worker: `module.function(text)`.

    The function is a context manager that gives the kinds.  It is called in the cell,
    so what it opens (connections, clients) is the cell's own.
    """

    module: str
    function: str
    text: str = ""


class Task(msgspec.Struct, frozen=True):
    """What a cell is for."""

    job: ClaimedJob
    recipe: Recipe


class Answer(msgspec.Struct, frozen=True):
    """What was asked for; seconds, or 0 and 1."""

    value: float


class Began(msgspec.Struct, frozen=True, tag=True):
    """The kinds are made; from here on everything is the job's doing."""


class Ask(msgspec.Struct, frozen=True, tag=True):
    """What only the holder of the lease knows."""

    what: Literal["cancel_requested", "seconds_left", "may_begin"]


class Progress(msgspec.Struct, frozen=True, tag=True):
    """See `Context.progress`."""

    value: dict[str, object]


class Log(msgspec.Struct, frozen=True, tag=True):
    """See `Context.log`."""

    event: str
    values: dict[str, str | float | bool | None]


class ToldEvent(msgspec.Struct, frozen=True):
    """One event of a change, as it will be stored."""

    tag: str
    schema: int
    data: msgspec.Raw


class ToldChange(msgspec.Struct, frozen=True):
    """One change that an outcome brings."""

    kind: int
    id: UUID
    tenant_id: str
    expected: int
    events: tuple[ToldEvent, ...]
    state: msgspec.Raw


class Ended(msgspec.Struct, frozen=True, tag=True):
    """How the run ended: the outcome's name, its members, its changes."""

    word: str
    members: msgspec.Raw
    changes: tuple[ToldChange, ...] = ()


class Unready(msgspec.Struct, frozen=True, tag=True):
    """The kinds could not be made: nothing of the job has begun."""

    error: str


type FromCell = Began | Ask | Progress | Log | Ended | Unready

_from_cell: Final = msgspec.json.Decoder(FromCell)


def message_of(frame: bytes) -> FromCell:
    """Return what a cell said.

    Raises:
        WireError: it is nothing that a cell says.
    """
    try:
        return _from_cell.decode(frame)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise WireError(type(error).__name__) from error


class Wire:
    """One end; frames are sent whole, by any thread, and received by one."""

    def __init__(self, end: socket.socket) -> None:
        """Talk over `end`, which is closed by whoever made it."""
        self._end = end
        self._buffer = bytearray()
        self._sending = threading.Lock()

    def send(self, message: msgspec.Struct) -> None:
        """Send one message.

        Raises:
            WireError: the other end is gone, or does not read.
        """
        frame = msgspec.json.encode(message)
        if len(frame) > LARGEST_FRAME:
            raise WireError(_TOO_LARGE)
        try:
            with self._sending:
                self._end.settimeout(SEND_SECONDS)
                self._end.sendall(_LENGTH.pack(len(frame)) + frame)
        except OSError as error:
            raise WireError(type(error).__name__) from error

    def receive(self, timeout: float | None) -> bytes | None:
        """Return the next frame; None if it is not whole yet.

        Reads once at most, so that who sends byte by byte gains no time.

        Raises:
            WireError: the other end is gone, or the frame is too large.
        """
        frame = self._frame()
        if frame is not None:
            return frame
        try:
            self._end.settimeout(timeout)
            chunk = self._end.recv(_CHUNK)
        except (TimeoutError, BlockingIOError):
            return None
        except OSError as error:
            raise WireError(type(error).__name__) from error
        if not chunk:
            raise WireError
        self._buffer += chunk
        return self._frame()

    def wait(self) -> bytes:
        """Return the next frame, however long it takes.

        Raises:
            WireError: the other end is gone.
        """
        while (frame := self.receive(None)) is None:
            pass
        return frame

    def _frame(self) -> bytes | None:
        if len(self._buffer) < _LENGTH.size:
            return None
        (length,) = _LENGTH.unpack_from(self._buffer)
        if length > LARGEST_FRAME:
            raise WireError(_TOO_LARGE)
        end = _LENGTH.size + length
        if len(self._buffer) < end:
            return None
        frame = bytes(self._buffer[_LENGTH.size : end])
        del self._buffer[:end]
        return frame
