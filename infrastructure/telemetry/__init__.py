"""What the processes tell about themselves: structured events, one line each."""

from infrastructure.telemetry.log import emit, listen, show

__all__ = ["emit", "listen", "show"]
