"""The console entry point, and the only door from the edge to the composition root."""

import os
import sys

from api.cli.app import run
from infrastructure.bootstrap import Composition


def main() -> None:
    """Run `counterfoil` with this process's arguments and environment."""
    sys.exit(run(Composition(os.environ), sys.argv[1:]))


if __name__ == "__main__":
    main()
