"""In what the panel differs, and asking for its repair."""

from api.http.drifts.routes import routes

__all__ = ["routes"]
