"""One order, one panel, and workers that are killed, for all crash tests."""

from tests.crash.test_fulfillment_kills import scene

__all__ = ["scene"]
