"""A server of a test's own, whose postmaster is killed."""

from tests.crash.test_database_restart import own_server

__all__ = ["own_server"]
