"""The internal listener as a client meets it."""

import json
import socket
import threading
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPResponse
from typing import Any

import pytest
from prometheus_client import CollectorRegistry, Counter

from infrastructure.errors import ConfigurationError
from infrastructure.listening.check import Check, Flaw
from infrastructure.listening.door import Door
from infrastructure.listening.listener import MOST, Listener
from infrastructure.listening.probes import Probes

SETTING = "COUNTERFOIL_WORKER_HTTP_ADDR"
LOCAL = ("127.0.0.1", 0)


@pytest.fixture
def probes() -> Probes:
    return Probes()


@pytest.fixture
def address(probes: Probes) -> Iterator[str]:
    registry = CollectorRegistry()
    Counter("made_up", "Made up.", registry=registry).inc()
    listener = Listener(SETTING, LOCAL)
    listener.serve(Door(probes, registry))
    yield listener.address
    listener.close()


def asked(address: str, path: str, method: str = "GET") -> tuple[HTTPResponse, Any]:
    connection = HTTPConnection(address, timeout=10)
    connection.request(method, path)
    response = connection.getresponse()
    body = response.read()
    connection.close()
    is_json = response.headers["Content-Type"] == "application/json"
    return response, json.loads(body) if body and is_json else body


def test_a_probe_lists_its_checks_with_their_class(
    address: str, probes: Probes
) -> None:
    checks = [Check("pool", lambda: None), Check("jobs", lambda: Flaw.TIMEOUT)]
    probes.watch(pulses=(), ready=checks, started=checks[:1])

    ready, told = asked(address, "/readyz")
    started, _ = asked(address, "/startupz")

    assert ready.status == 503
    assert told == {
        "status": "failing",
        "checks": {"pool": {"ok": True}, "jobs": {"ok": False, "class": "timeout"}},
    }
    assert started.status == 200
    assert ready.headers["Cache-Control"] == "no-store"


@pytest.mark.parametrize("path", ["/livez", "/healthz"])
def test_alive_has_two_names(address: str, path: str) -> None:
    response, told = asked(address, path)

    assert response.status == 200
    assert told == {"status": "ok", "checks": {}}


def test_metrics_are_served_as_prometheus_reads_them(address: str) -> None:
    response, body = asked(address, "/metrics")

    assert response.status == 200
    assert response.headers["Content-Type"].startswith("text/plain")
    assert b"made_up_total 1.0" in body


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/", 404),
        ("GET", "/v1/jobs", 404),
        ("POST", "/readyz", 405),
        ("DELETE", "/metrics", 405),
    ],
)
def test_there_is_nothing_else(
    address: str, method: str, path: str, status: int
) -> None:
    response, _ = asked(address, path, method)

    assert response.status == status


def test_head_has_the_status_and_no_body(address: str) -> None:
    response, body = asked(address, "/readyz", "HEAD")

    assert (response.status, body) == (503, b"")


def test_whoever_holds_many_connections_keeps_no_probe_out(address: str) -> None:
    host, port = address.split(":")
    held = [socket.create_connection((host, int(port))) for _ in range(3 * MOST)]

    response, _ = asked(address, "/livez")

    assert response.status == 200
    for each in held:
        each.close()


def test_what_hangs_in_one_check_keeps_no_other_probe_out(
    address: str, probes: Probes
) -> None:
    free, entered = threading.Event(), threading.Event()

    def hang() -> None:
        entered.set()
        free.wait()

    probes.watch(pulses=(), ready=[Check("database", hang)], started=())
    waits = threading.Thread(target=lambda: asked(address, "/readyz"))
    waits.start()
    entered.wait()

    response, _ = asked(address, "/livez")
    free.set()
    waits.join()

    assert response.status == 200


def test_a_port_that_somebody_has_is_told_with_its_setting() -> None:
    with socket.create_server(LOCAL) as taken:
        port = taken.getsockname()[1]

        with pytest.raises(ConfigurationError, match=SETTING) as refused:
            Listener(SETTING, ("127.0.0.1", port))

    assert "0 for any free one" in str(refused.value)
