"""The API over the world in which jobs are brought to any state by hand."""

from tests.operators.world import world

__all__ = ["world"]
