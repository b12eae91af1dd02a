"""What a demo runs on, and how it speaks to whoever watches."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from infrastructure.demo.diary import Sale
from infrastructure.demo.figures import Progress

FREEZE_SECONDS: Final = 66.0
"""Longer than a lease (60 s) and one rescue round (5 s)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoOptions:
    """What a demo runs on and how much breaks."""

    workers: int = 3
    fault_rate: float = 0.03
    seed: int = 1997
    patience_seconds: float = 600.0
    freeze_seconds: float = FREEZE_SECONDS


@dataclass(slots=True)
class Stage:
    """What the demo is told by, and tells, while it runs."""

    sales: Mapping[str, Sale]
    """Every order of the shop's file, as they come."""
    settle: Callable[[Callable[[], object]], None]
    """Settles them, calling back now and then."""
    tell: Callable[[str], None]
    show: Callable[[Progress], None]
    began_at: float = field(default_factory=time.monotonic)
