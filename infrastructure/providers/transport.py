"""httpx over connections that keep to the whole request's time; see `connection`."""

from functools import cache
from ssl import SSLContext
from typing import Final

import httpcore
import httpx

from infrastructure.providers.connection import REST_SECONDS, BoundedBackend, Clock

LARGEST_ANSWER_BYTES: Final = 1 << 20


class BoundedTransport(httpx.HTTPTransport):
    """httpx's transport, without proxies and certificates from the environment."""

    def __init__(self, clock: Clock, *, kept: int) -> None:
        """Keep that many connections for further requests, at most."""
        super().__init__(verify=_certificates(), trust_env=False)
        # httpx has no argument for the network backend of its pool; a test proves
        # that this pool is the one in use.
        self._pool = httpcore.ConnectionPool(
            ssl_context=_certificates(),
            max_connections=max(kept, 1),
            max_keepalive_connections=kept,
            keepalive_expiry=REST_SECONDS,
            network_backend=BoundedBackend(clock),
        )


@cache
def _certificates() -> SSLContext:
    """Return the certificates of httpx's bundle, read once: it takes a while."""
    return httpx.create_ssl_context(trust_env=False)
