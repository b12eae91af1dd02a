"""What a worker knows about its machine's clock: only that it may be wrong."""

from infrastructure.processor.clock.watch import ClockWatch

__all__ = ["ClockWatch"]
