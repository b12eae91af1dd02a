"""A process is proved to have ended, or nothing is said about it."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import UUID

import msgspec
import pytest

from domain.goods.events import Sender
from infrastructure.processor.senders import ended, identity
from infrastructure.processor.senders.ended import has_ended
from infrastructure.processor.senders.identity import started_of, who_sends
from tests.fixtures.workers import until

BOOT = UUID(int=1)

WAITS = "import sys; sys.stdin.read()"
ITS_FIRST_THREAD_ENDS = """
import ctypes, sys, threading
threading.Thread(target=sys.stdin.read, daemon=False).start()
print("begun", flush=True)
ctypes.CDLL(None).syscall(60, 0)
"""


@contextmanager
def process(code: str = WAITS) -> Iterator[subprocess.Popen[bytes]]:
    child = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        yield child
    finally:
        child.kill()
        child.wait()
        for end in (child.stdin, child.stdout):
            if end is not None:
                end.close()


def sender_of(pid: int) -> Sender:
    started = until(lambda: started_of(pid))
    return msgspec.structs.replace(who_sends(BOOT), pid=pid, started=started)


def test_this_process_lives() -> None:
    assert not has_ended(who_sends(BOOT))


def test_a_process_lives_until_it_was_killed_whether_anybody_asks_how_or_not() -> None:
    with process() as child:
        sender = sender_of(child.pid)
        assert not has_ended(sender)

        child.kill()

        until(lambda: has_ended(sender))  # nobody has waited for it yet
        child.wait()
        assert has_ended(sender)


def test_a_process_that_is_stopped_lives() -> None:
    with process() as child:
        sender = sender_of(child.pid)
        child.send_signal(signal.SIGSTOP)

        assert not has_ended(sender)


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the number of a syscall")
def test_a_process_whose_first_thread_has_ended_lives_on() -> None:
    with process(ITS_FIRST_THREAD_ENDS) as child:
        sender = sender_of(child.pid)
        assert child.stdout is not None
        assert child.stdout.readline() == b"begun\n"
        until(lambda: "Z" in identity.stat_of(child.pid)[:1])

        assert not has_ended(sender)


def test_a_number_that_is_used_again_is_another_process() -> None:
    with process() as child:
        sender = sender_of(child.pid)

        assert has_ended(msgspec.structs.replace(sender, started=sender.started - 1))


@pytest.mark.parametrize("machine", ["", "another boot pid:[1] time:[1]"])
def test_nothing_is_proved_about_another_machine(machine: str) -> None:
    gone = msgspec.structs.replace(who_sends(BOOT), machine=machine, started=1)

    assert not has_ended(gone)


def test_nothing_is_proved_where_the_machine_cannot_be_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """What lies at /proc belongs to another namespace of processes."""
    (tmp_path / "self").symlink_to("1")
    gone = msgspec.structs.replace(who_sends(BOOT), started=1)
    monkeypatch.setattr(identity, "_OWN", tmp_path / "self")

    assert not has_ended(gone)
    assert who_sends(BOOT).machine == ""


def test_nothing_is_proved_of_a_process_that_is_hidden(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It is somebody else's, and /proc does not show those (hidepid)."""
    with process() as child:
        sender = sender_of(child.pid)
        monkeypatch.setattr(ended, "started_of", lambda _pid: None)

        assert not has_ended(sender)
