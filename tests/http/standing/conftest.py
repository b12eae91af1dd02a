"""An installation in which things have happened, without workers."""

from tests.operators.world import world

__all__ = ["world"]
