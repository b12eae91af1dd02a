"""Intake: orders that were paid, money that went back, and jobs."""

from api.http.intake.routes import routes

__all__ = ["routes"]
