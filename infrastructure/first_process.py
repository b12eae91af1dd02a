"""The first process of a container: it reaps, passes signals on, and ends as its child.

    process 1 ──► worker ──► whatever handlers start
        ▲                        │
        └── orphans of theirs ◄──┘

The kernel gives every orphan to process 1, which has to reap it, and lets no signal end
process 1 that it does not handle.  A worker can do neither: it must not take the exit
codes of its handlers' children, and its second SIGTERM means to end it at once.
"""

import os
import signal
from typing import Final, NoReturn

_FIRST: Final = 1
_OF_A_SIGNAL: Final = 128
"""What shells add to the number of the signal that ended a process."""

_PASSED_ON: Final = (
    signal.SIGTERM,
    signal.SIGINT,
    signal.SIGHUP,
    signal.SIGQUIT,
    signal.SIGUSR1,
    signal.SIGUSR2,
)


def leave_the_first_place(first: int = _FIRST) -> None:
    """Go on in a child if this is process 1, which stays behind; else return at once.

    To be called before there are threads or connections.
    """
    if os.getpid() != first:
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {*_PASSED_ON, signal.SIGCHLD})
    worker = os.fork()
    if worker:
        _serve(worker)
    # A key that ends the foreground is told to process 1 alone, which passes it on.
    os.setpgid(0, 0)
    signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _serve(worker: int) -> NoReturn:
    """Wait for signals until the worker has ended; then end as it did."""
    while True:
        number = signal.sigwait({*_PASSED_ON, signal.SIGCHLD})
        if number != signal.SIGCHLD:
            os.kill(worker, number)  # not reaped yet, so still it
            continue
        status = _reaped(worker)
        if status is not None:
            code = os.waitstatus_to_exitcode(status)
            os._exit(code if code >= 0 else _OF_A_SIGNAL - code)


def _reaped(worker: int) -> int | None:
    """Reap all that have ended; return how the worker ended, if it did."""
    ended: int | None = None
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return ended
        if pid == 0:
            return ended
        if pid == worker:
            ended = status
