"""The world without workers, in which operators decide."""

from tests.operators.stage import stage
from tests.operators.world import world

__all__ = ["stage", "world"]
