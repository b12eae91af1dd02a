"""The commands and the environment that the compose files give to each service."""

import re
from collections.abc import Mapping
from typing import Final

import msgspec

from deploy.trial.world import COMPOSE

_ASKED: Final = re.compile(r"\$\{(?P<name>\w+):-(?P<default>[^}]*)\}")


class Service(msgspec.Struct, frozen=True):
    """What a plain process needs of a service."""

    command: tuple[str, ...] = ()
    environment: dict[str, str] = {}


class _Composed(msgspec.Struct, frozen=True):
    services: dict[str, Service]


def composed(environ: Mapping[str, str]) -> dict[str, Service]:
    """Return the services as compose merges them; `environ` fills in what is asked."""
    merged: dict[str, Service] = {}
    for file in COMPOSE:
        told = msgspec.yaml.decode(file.read_bytes(), type=_Composed)
        for name, said in told.services.items():
            known = merged.get(name, Service())
            values = {
                key: _filled(value, environ) for key, value in said.environment.items()
            }
            merged[name] = Service(
                command=said.command or known.command,
                environment={**known.environment, **values},
            )
    return merged


def _filled(value: str, environ: Mapping[str, str]) -> str:
    return _ASKED.sub(lambda it: environ.get(it["name"]) or it["default"], value)


def in_place_of(text: str, places: Mapping[str, str]) -> str:
    """Return `text` with the places of containers replaced by those of this machine."""
    for place, here in places.items():
        text = text.replace(place, here)
    return text
