"""Read models: where they stand, and holding them."""

from api.http.projections.routes import routes

__all__ = ["routes"]
