"""What the internal listener answers: probes as JSON, metrics as Prometheus reads them.

It is a WSGI application; the metrics themselves are served by prometheus-client's.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Final

import msgspec
from prometheus_client import CollectorRegistry
from prometheus_client import (
    make_wsgi_app as _made,  # pyright: ignore[reportUnknownVariableType]
)

from infrastructure.listening.probes import Probes, Verdict

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

METRICS: Final = "/metrics"
_READS: Final = ("GET", "HEAD")
_GOOD: Final = "200 OK"
_BAD: Final = "503 Service Unavailable"


class Door:
    """Answers requests from one process's probes and registry."""

    def __init__(self, probes: Probes, registry: CollectorRegistry) -> None:
        """Take what is asked about."""
        self._probes: dict[str, Callable[[], Verdict]] = {
            "/livez": probes.alive,
            "/healthz": probes.alive,
            "/readyz": probes.ready,
            "/startupz": probes.started,
        }
        self._metrics: WSGIApplication = _made(registry)

    def __call__(
        self, environ: "WSGIEnvironment", start_response: "StartResponse"
    ) -> Iterable[bytes]:
        """Answer one request."""
        path, method = environ["PATH_INFO"], environ["REQUEST_METHOD"]
        if path == METRICS:
            return self._metrics(environ, start_response)
        probe = self._probes.get(path)
        if probe is None:
            return _answer(start_response, "404 Not Found", {"status": "unknown path"})
        if method not in _READS:
            told = {"status": "GET or HEAD"}
            return _answer(start_response, "405 Method Not Allowed", told)
        verdict = probe()
        status = _GOOD if verdict.is_good else _BAD
        answer = _answer(start_response, status, _told(verdict))
        return answer if method == "GET" else [b""]


def _told(verdict: Verdict) -> dict[str, object]:
    return {
        "status": "ok" if verdict.is_good else "failing",
        "checks": {
            name: {"ok": flaw is None} | ({} if flaw is None else {"class": flaw})
            for name, flaw in verdict.checks.items()
        },
    }


def _answer(
    start_response: "StartResponse", status: str, told: Mapping[str, object]
) -> list[bytes]:
    body = msgspec.json.encode(told) + b"\n"
    headers = [
        ("Content-Type", "application/json"),
        ("Content-Length", str(len(body))),
        ("Cache-Control", "no-store"),
    ]
    start_response(status, headers)
    return [body]
