"""The demo: real orders, a panel that fails, workers that die; and who agrees."""

from infrastructure.demo.run import DemoOptions, run_demo

__all__ = ["DemoOptions", "run_demo"]
