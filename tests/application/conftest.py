"""What end-to-end tests of the product's own kinds run over."""

from tests.application.installed import panel, worker
from tests.application.place import place

__all__ = ["panel", "place", "worker"]
