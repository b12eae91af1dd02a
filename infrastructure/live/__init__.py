"""What happens now, told to whoever follows it: one reader of the log per process."""

from infrastructure.live.feed import Feed

__all__ = ["Feed"]
