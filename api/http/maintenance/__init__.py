"""What is closed for maintenance, and closing and opening it."""

from api.http.maintenance.routes import routes

__all__ = ["routes"]
