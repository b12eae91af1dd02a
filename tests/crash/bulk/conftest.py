"""The stage of bulk operations, for workers that are killed."""

from tests.bulk.stage import stage

__all__ = ["stage"]
