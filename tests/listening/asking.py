"""Asks the internal listener of a process."""

import json
from http.client import HTTPConnection
from typing import Any, NamedTuple

from tests.api.command import Started


class Answer(NamedTuple):
    """What a probe said."""

    status: int
    told: Any

    @property
    def flaws(self) -> dict[str, str]:
        """What is wrong with which check."""
        checks = self.told["checks"].items()
        return {name: each["class"] for name, each in checks if not each["ok"]}


def address_of(process: Started) -> str:
    """Return where a process that was started with `--json` answers."""
    address: str = json.loads(process.wait_for('"probes"'))["probes"]
    return address


def ask(address: str, path: str, within_s: float = 30.0) -> Answer:
    """Return the answer to one request.

    Raises:
        TimeoutError: there was none in time.
    """
    connection = HTTPConnection(address, timeout=within_s)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        body = response.read()
    finally:
        connection.close()
    is_json = response.headers["Content-Type"] == "application/json"
    return Answer(response.status, json.loads(body) if is_json else body.decode())
