"""A worker in front of a simulated panel, for those who want the real thing."""

from tests.application.installed import panel, worker

__all__ = ["panel", "worker"]
