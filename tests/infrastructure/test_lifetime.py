"""A thread that a handler has started is no thread of the worker."""

import json
import subprocess
import sys

from tests.fixtures.processes import ROOT

LIVES = """
import os
import threading
from infrastructure.lifetime import leave, work_until_stopped
from infrastructure.telemetry import listen, show

class Worker:
    def start(self):
        self.stopped = threading.Event()
        self.thread = threading.Thread(target=self.work, name="default-0")
        self.thread.start()

    def work(self):
        while not lifetime._ours:
            pass
        def die():
            raise ValueError("secret of the provider")
        left = threading.Thread(target=die, name="a handler's")
        left.start()
        left.join()
        os.kill(os.getpid(), 15)
        self.stopped.wait()

    def stop(self):
        self.stopped.set()
        self.thread.join()

from infrastructure import lifetime
with listen(show):
    work_until_stopped(Worker())
leave(0)
"""


def test_a_handlers_own_thread_that_dies_is_told_of_and_ends_no_worker() -> None:
    done = subprocess.run(
        [sys.executable, "-c", LIVES],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert done.returncode == 0
    told = json.loads(done.stderr)
    assert (told["event"], told["error"]) == ("thread of a handler died", "ValueError")
    assert "secret" not in done.stderr


LOSES_A_THREAD = """
import sys
import threading
from infrastructure.lifetime import work_until_stopped
from infrastructure.telemetry import listen, show

class Worker:
    def start(self):
        may_end = threading.Event()
        def work():
            may_end.wait()
            sys.exit()
        threading.Thread(target=work, name="settler").start()
        lifetime._ours.update(threading.enumerate())
        may_end.set()

    def stop(self):
        raise AssertionError

from infrastructure import lifetime
with listen(show):
    work_until_stopped(Worker())
"""


def test_a_thread_of_ours_that_exits_ends_the_worker_as_any_that_dies() -> None:
    """Python lets a thread end by `SystemExit` without a word."""
    done = subprocess.run(
        [sys.executable, "-c", LOSES_A_THREAD],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert done.returncode == 70
    told = json.loads(done.stderr)
    assert (told["event"], told["thread"]) == ("thread died", "settler")


HAS_NO_THREADS = """
import threading
from infrastructure.errors import InfrastructureError
from infrastructure.lifetime import work_until_stopped

class Worker:
    def start(self):
        raise RuntimeError("can't start new thread")

    def stop(self):
        raise AssertionError

try:
    work_until_stopped(Worker())
except InfrastructureError as error:
    print(error)
"""


def test_a_machine_that_gives_no_more_threads_is_told_with_a_remedy() -> None:
    done = subprocess.run(
        [sys.executable, "-c", HAS_NO_THREADS],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )

    assert done.stdout.startswith("can't start new thread; raise the limits of ")
    assert "COUNTERFOIL_QUEUE_CRITICAL" in done.stdout
