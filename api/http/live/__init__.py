"""Live: streams of what happens, and the same by polling."""

from api.http.live.routes import routes

__all__ = ["routes"]
