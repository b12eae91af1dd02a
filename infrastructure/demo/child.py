"""Run one command of the product as a child that dies with its demo.

`python -m infrastructure.demo.child worker`: the kernel kills it when the process
that started it is gone, however that ended (Linux; elsewhere it lives on).
"""

import ctypes
import runpy
import signal
import sys
from typing import Final

_PR_SET_PDEATHSIG: Final = 1

if __name__ == "__main__":
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    runpy.run_module("api", run_name="__main__", alter_sys=True)
