"""What a process serves over an opened installation."""

from typing import Final

from api.http.app import application, enveloped
from api.http.server import AddressTakenError, HttpServer
from api.http.services import HttpServices

_ANY_PORT: Final = 0


def serve(services: HttpServices, host: str, port: int) -> HttpServer:
    """Return the server of the API, which listens already.

    Raises:
        AddressTakenError: the address cannot be had.
    """
    app = enveloped(application(services), services.counts)
    return HttpServer(app, host, port, services.feed.close, services.counts)


def serve_somewhere(services: HttpServices, host: str, port: int) -> HttpServer:
    """Return the server of the API, at another port if that one is taken."""
    try:
        return serve(services, host, port)
    except AddressTakenError:
        return serve(services, host, _ANY_PORT)
