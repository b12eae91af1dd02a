"""Stores over the test's own database, with and without a proxy before it."""

from tests.store.conftest import cut_store, store

__all__ = ["cut_store", "store"]
