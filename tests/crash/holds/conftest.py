"""What people say of queues, and a server of a test's own."""

from tests.crash.test_database_restart import own_server
from tests.processor.holds.conftest import desk

__all__ = ["desk", "own_server"]
