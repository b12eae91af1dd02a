"""Queues: what runs and waits there, pauses that end by themselves, limits."""

from api.http.queues.routes import routes

__all__ = ["routes"]
