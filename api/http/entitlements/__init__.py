"""Entitlements: what operators ask to be done on a customer's access."""

from api.http.entitlements.routes import routes

__all__ = ["routes"]
