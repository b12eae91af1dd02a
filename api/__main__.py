"""The console entry point, and the only door from the edge to the composition root."""

import io
import os
import sys
from typing import NoReturn, cast

from api.healthcheck import look


def main() -> None:
    """Run `counterfoil` with this process's arguments and environment."""
    _open_standard_streams()
    if sys.argv[1:] == ["healthcheck"]:
        _check_health()
    # Not before: all of the product is a second of a core, and an engine asks for the
    # health of each container every few seconds.
    from api.cli.app import run  # noqa: PLC0415 - see above
    from infrastructure.bootstrap import Composition  # noqa: PLC0415 - see above

    output: object = sys.stdout
    if isinstance(output, io.TextIOWrapper):
        # A terminal of another alphabet shows what it cannot write as its code.
        cast("io.TextIOWrapper", output).reconfigure(errors="backslashreplace")
    sys.exit(run(Composition(os.environ), sys.argv[1:]))


def _check_health() -> NoReturn:
    """Answer as `counterfoil healthcheck` does."""
    health = look(os.environ)
    sys.stdout.write(f"{health}\n")
    sys.exit(0 if health.is_ready else 1)


def _open_standard_streams() -> None:
    """Let whoever closed one of them have silence.

    A connection to the database that got its number would be told what is written.
    """
    for fd, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            null = os.open(os.devnull, os.O_RDWR)
            os.dup2(null, fd)
            if null != fd:
                os.close(null)
            setattr(sys, name, os.fdopen(fd, "w" if fd else "r", encoding="utf-8"))


if __name__ == "__main__":
    main()
