"""Who asks: people who sign in, and the tokens of programs."""

from api.http.access.routes import routes

__all__ = ["routes"]
