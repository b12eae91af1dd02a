"""The stage on which bulk operations are played."""

from tests.bulk.stage import stage

__all__ = ["stage"]
