"""What is around the database: poolers, folders, the panel and providers."""

import os
import socket
from collections.abc import Iterator
from contextlib import closing
from typing import Final
from urllib.parse import urlsplit

from infrastructure.doctor.finding import Finding, ill, well
from infrastructure.errors import DatabaseUnavailableError
from infrastructure.postgres.database import Connection, connect
from infrastructure.providers.answer import Answer
from infrastructure.providers.panel.answer import Call
from infrastructure.providers.panel.wire import PanelWire
from infrastructure.providers.registry.rows import read_providers
from infrastructure.settings import Settings

_REACH_SECONDS: Final = 5.0
_OK: Final = 200
_PORTS: Final = {"http": 80, "https": 443}

# The cheapest answer that needs the panel's database and a token that is valid.
_PROBE: Final = Call("GET", "/api/users?start=0&size=1", "GET users")

_BACKEND: Final = "SELECT pg_backend_pid()"


class _Always:
    def may_begin(self) -> bool:
        return True


def notices(settings: Settings, connection: Connection) -> Iterator[Finding]:
    """Say whether idle workers are woken, and whether a pooler is in between."""
    is_pooled = _is_pooled(connection)
    if is_pooled:
        yield well("pooler", "between here and the database")
    if settings.database_url is None:
        yield well("notices", "the embedded database is listened to")
    elif settings.listen_url is None:
        yield well("notices", "COUNTERFOIL_LISTEN_URL is not set: idle workers poll")
    else:
        yield _listening(settings.listen_url)


def _listening(url: str) -> Finding:
    remedy = (
        "let COUNTERFOIL_LISTEN_URL lead to the same database past any pooler, "
        "or unset it: workers poll then"
    )
    try:
        with closing(connect(url)) as direct:
            if _is_pooled(direct):
                return ill(
                    "notices", "COUNTERFOIL_LISTEN_URL leads through a pooler", remedy
                )
    except DatabaseUnavailableError:
        return ill("notices", "COUNTERFOIL_LISTEN_URL cannot be reached", remedy)
    return well("notices", "COUNTERFOIL_LISTEN_URL leads to a server itself")


def _is_pooled(connection: Connection) -> bool:
    """Whether the process that was greeted is not the one that answers."""
    ((pid,),) = connection.execute(_BACKEND).fetchall()
    return bool(pid != connection.info.backend_pid)


def folder(settings: Settings, _: Connection) -> Iterator[Finding]:
    """Say whether the data folder can be written."""
    path = settings.data_dir.absolute()
    existing = next(it for it in (path, *path.parents) if it.exists())
    if existing.is_dir() and os.access(existing, os.W_OK | os.X_OK):
        yield well("data folder", f"{path} can be written")
    else:
        yield ill(
            "data folder",
            f"{path} cannot be written by this user",
            "set COUNTERFOIL_DATA_DIR to a folder of this user's on a disk that lasts, "
            "the same one for every process of this host",
        )


def panel(settings: Settings, _: Connection) -> Iterator[Finding]:
    """Say whether the panel answers, by a read that changes nothing."""
    url, token = settings.remnawave_url, settings.remnawave_token
    if url is None or token is None:
        yield well("panel", "none is configured: fulfilment jobs wait")
        return
    with closing(PanelWire(url, token)) as wire:
        answer = wire.send(_PROBE, "doctor", _Always())
    if isinstance(answer, Answer) and answer.status == _OK:
        yield well("panel", "answers")
    elif isinstance(answer, Answer):
        yield ill(
            "panel",
            f"answers with status {answer.status}",
            "401 and 403: COUNTERFOIL_REMNAWAVE_TOKEN is not its token; "
            "404: COUNTERFOIL_REMNAWAVE_URL is not its address",
        )
    else:
        yield ill(
            "panel",
            "cannot be reached",
            "check COUNTERFOIL_REMNAWAVE_URL, and the way there from this host",
        )


def providers(_: Settings, connection: Connection) -> Iterator[Finding]:
    """Say whether enabled providers of goods can be reached; none is asked anything."""
    enabled = [it for it in read_providers(connection) if it.is_enabled and it.sealed]
    missed = [it for it in enabled if not _reached(it.base_url)]
    for each in missed:
        yield ill(
            "providers",
            f"provider {each.tenant_id}/{each.slug} cannot be reached",
            "check its address (`counterfoil providers`), and the way from this host",
        )
    if not missed:
        yield well("providers", f"{len(enabled)} enabled, and reached")


def _reached(base_url: str | None) -> bool:
    url = urlsplit(base_url or "")
    address = (url.hostname or "", url.port or _PORTS.get(url.scheme, 443))
    try:
        socket.create_connection(address, _REACH_SECONDS).close()
    except OSError:
        return False
    return True
