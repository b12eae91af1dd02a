"""What the processes tell about themselves: structured events, one line each."""

from infrastructure.telemetry.log import Value, emit, listen, show
from infrastructure.telemetry.measures import is_measured, measure, measuring

__all__ = [
    "Value",
    "emit",
    "is_measured",
    "listen",
    "measure",
    "measuring",
    "show",
]
