"""What the edge serves beside the worker, as the process that runs it sees it."""

from collections.abc import Callable
from typing import Protocol


class Server(Protocol):
    """Answers HTTP in threads of its own."""

    @property
    def address(self) -> str:
        """Where it is reached."""
        ...

    def tell_ticks(self, tick: Callable[[], None]) -> None:
        """Call `tick` whenever its loop comes round."""
        ...

    def start(self) -> None:
        """Begin."""
        ...

    def ask_to_stop(self) -> None:
        """Take nothing new."""
        ...

    def stop(self) -> None:
        """Return when every request has ended."""
        ...
