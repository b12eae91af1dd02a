"""Jobs: what becomes of them, and what people do about that."""

from api.http.jobs.routes import routes

__all__ = ["routes"]
