"""The stage on which bulk operations are played."""

from tests.bulk.stage import stage
from tests.operators.world import world

__all__ = ["stage", "world"]
