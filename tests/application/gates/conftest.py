"""A real worker that looks often, before a simulated panel, and a hand-driven place."""

from tests.application.gates.day import day
from tests.application.installed import panel
from tests.application.place import place

__all__ = ["day", "panel", "place"]
