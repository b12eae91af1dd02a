"""The stage of bulk operations, beside an API over the same database."""

from tests.bulk.stage import stage

__all__ = ["stage"]
