"""The console entry point, and the only door from the edge to the composition root."""

import io
import os
import sys
from typing import cast

from api.cli.app import run
from infrastructure.bootstrap import Composition


def main() -> None:
    """Run `counterfoil` with this process's arguments and environment."""
    output: object = sys.stdout
    if isinstance(output, io.TextIOWrapper):
        # A terminal of another alphabet shows what it cannot write as its code.
        cast("io.TextIOWrapper", output).reconfigure(errors="backslashreplace")
    sys.exit(run(Composition(os.environ), sys.argv[1:]))


if __name__ == "__main__":
    main()
