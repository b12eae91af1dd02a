"""What workers do for the limits of intake: count how much is pending in all."""

from infrastructure.processor.pending.count import PendingCount

__all__ = ["PendingCount"]
