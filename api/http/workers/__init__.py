"""Workers: the processes that claim jobs, and asking them to claim no more."""

from api.http.workers.routes import routes

__all__ = ["routes"]
