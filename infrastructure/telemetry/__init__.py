"""What the processes tell about themselves: structured events, one line each."""

from infrastructure.telemetry.log import Value, emit, listen, show

__all__ = ["Value", "emit", "listen", "show"]
