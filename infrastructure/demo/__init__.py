"""The demo: real orders, a panel that fails, workers that die; and who agrees."""

from infrastructure.demo.check import Finding, first_few
from infrastructure.demo.figures import Progress
from infrastructure.demo.run import DemoResult
from infrastructure.demo.stage import DemoOptions
from infrastructure.demo.staging import Orders, stage_demo

__all__ = [
    "DemoOptions",
    "DemoResult",
    "Finding",
    "Orders",
    "Progress",
    "first_few",
    "stage_demo",
]
