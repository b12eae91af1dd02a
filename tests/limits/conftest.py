"""The world without workers, and the command line, over the database of the test."""

from tests.api.conftest import counterfoil
from tests.operators.world import world

__all__ = ["counterfoil", "world"]
