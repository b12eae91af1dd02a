"""Messages that wait to be published: how many, and since when."""

from api.http.outbox.routes import routes

__all__ = ["routes"]
