"""Whether the process of this container is ready, as its own listener says.

A container's engine asks every few seconds, so nothing of the product is imported here.
A container holds one role, but its environment may name the listeners of several: one
that refuses the connection is another container's, and does not count.
"""

import http.client
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, override

SETTINGS: Final = ("COUNTERFOIL_WORKER_HTTP_ADDR", "COUNTERFOIL_API_METRICS_ADDR")

_PATH: Final = "/readyz"
_PATIENCE_SECONDS: Final = 3.0
_HERE: Final = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - asked, not bound
"""Where to ask who listens everywhere."""


@dataclass(frozen=True, slots=True)
class Health:
    """Whether all is well, and what a person is told."""

    is_ready: bool
    told: str

    @override
    def __str__(self) -> str:
        """Return the one line that is shown."""
        return f"{'' if self.is_ready else 'not '}ready: {self.told}"


def look(environ: Mapping[str, str]) -> Health:
    """Return what the listener says that is here."""
    named = {name: environ[name].strip() for name in SETTINGS if environ.get(name)}
    if not any(named.values()):
        return Health(is_ready=False, told=f"set {' or '.join(SETTINGS)}")
    answers = tuple(_answers(named))
    if not answers:
        return Health(is_ready=False, told="nothing listens yet")
    is_ready = all(answer.is_ready for answer in answers)
    return Health(is_ready, "; ".join(answer.told for answer in answers))


def _answers(named: Mapping[str, str]) -> Iterator[Health]:
    for name, value in named.items():
        host, colon, port = value.rpartition(":")
        host = host.removeprefix("[").removesuffix("]")
        if not (colon and port.isascii() and port.isdecimal()):
            yield Health(is_ready=False, told=f"{name} is no HOST:PORT")
            continue
        connection = http.client.HTTPConnection(
            _HERE.get(host, host), int(port), timeout=_PATIENCE_SECONDS
        )
        try:
            connection.request("GET", _PATH)
            status = connection.getresponse().status
            is_ready = status == http.client.OK
            yield Health(is_ready, f"{name} ({value}) answers {status}")
        except ConnectionRefusedError:
            continue
        except (OSError, OverflowError, http.client.HTTPException):
            yield Health(is_ready=False, told=f"{name} ({value}) does not answer")
        finally:
            connection.close()
