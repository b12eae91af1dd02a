"""The two processes that are measured: the API, and the bare route."""

import json
import os
import subprocess
import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import closing, contextmanager
from typing import Final

from application.access.tokens import Wanted
from application.operators.instruction import instruct
from bench.child import ROOT, BenchError
from bench.http.load import Asked
from domain.access.audience import Audience
from domain.access.permissions import Permission
from infrastructure.client import Client
from infrastructure.extensions.extensions import Extensions
from infrastructure.installation import open_installation
from infrastructure.postgres.database import connect, transaction
from infrastructure.settings import Settings

_STOP_SECONDS: Final = 60.0
_BODY: Final = '{"kind": "noop", "args": {"n": 1}}'
_ENDLESS: Final = "100000000"


@contextmanager
def serving(*command: str, environ: Mapping[str, str]) -> Generator[str]:
    """Give the address that a process prints in its first line."""
    with subprocess.Popen(  # noqa: S603 - our own interpreter
        [sys.executable, "-m", *command],
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env=os.environ | environ,
    ) as process:
        try:
            line = next(iter(process.stdout or ()), "").strip()
            if not line:
                msg = f"{command[0]} did not start"
                raise BenchError(msg)
            yield json.loads(line)["api"] if line.startswith("{") else line
        finally:
            process.terminate()
            process.wait(_STOP_SECONDS)


def api_environ(conninfo: str) -> dict[str, str]:
    """Return the settings of an API that no limit holds back."""
    return {
        "COUNTERFOIL_DATABASE_URL": conninfo,
        "COUNTERFOIL_HTTP_ADDR": "127.0.0.1:0",
        "COUNTERFOIL_RATE_LIMIT_BURST": _ENDLESS,
        "COUNTERFOIL_RATE_LIMIT_HOUR": _ENDLESS,
    }


def token_of(
    conninfo: str, audience: Audience, scopes: Sequence[Permission], name: str = "bench"
) -> str:
    """Return a token of that database."""
    settings = Settings(database_url=conninfo)
    with open_installation(settings, Extensions(settings)) as services:
        wanted = Wanted(
            tenant_id="default", name=name, surface=audience, scopes=tuple(scopes)
        )
        made = services.access.tokens.create(wanted, instruct("bench", "measured"))
    return made.text


def asked_of_the_api(conninfo: str) -> dict[str, Asked]:
    """Return what is asked of the API, with a token and a job of that database."""
    scopes = (Permission.JOBS_READ, Permission.JOBS_WRITE)
    token = token_of(conninfo, Audience.SHOP, scopes)
    with closing(connect(conninfo)) as connection, transaction(connection):
        job = Client(connection).enqueue("noop", {"n": 1})
    headers = {"Authorization": f"Bearer {token}"}
    return {
        "read": Asked("GET", f"/v1/jobs/{job.job_id}", headers),
        "write": Asked("POST", "/v1/jobs", headers, _BODY),
        "write under a key": Asked("POST", "/v1/jobs", headers, _BODY, is_keyed=True),
    }


def asked_of_the_bare_route() -> dict[str, Asked]:
    """Return what is asked of the bare route."""
    return {
        "read": Asked("GET", "/bare", {}),
        "write": Asked("POST", "/bare", {}, _BODY),
    }
