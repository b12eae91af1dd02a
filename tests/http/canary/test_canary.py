"""I12: what is secret is in no answer, no line of the log, no metric and no probe.

Secrets of every shape are put wherever somebody can put something: into payloads, what
providers answer, headers, reasons, bodies that are refused.  Then everything is asked
of every route by everybody, and everything that was said is looked through.
"""

from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any
from wsgiref.util import setup_testing_defaults

import pytest

from api.http.surface import Surface
from infrastructure.listening.door import METRICS as METRICS_PATH
from infrastructure.listening.door import Door
from tests.fixtures.database import TestDatabase
from tests.fixtures.read_models import project
from tests.fixtures.workers import until
from tests.http.access.matrix import Asked
from tests.http.canary import stage
from tests.http.canary.asking import followed, put_in_requests, reads, settled
from tests.http.canary.known import known
from tests.http.canary.liar import FAULTS
from tests.http.canary.plants import LOG, METRICS, PROBES, TOLD, Search, marker
from tests.http.canary.stage import Stage, staged, working

pytestmark = [pytest.mark.database, pytest.mark.timeout(180)]


def test_what_is_secret_is_nowhere(database: TestDatabase, tmp_path: Path) -> None:
    search = Search()
    with staged(database, tmp_path) as place:
        stage.put_in_providers(place)
        search.all(settled(place.api, 2 * len(FAULTS)))
        stage.put_in_payloads(place)
        with working(place):
            until(lambda: not has_unbegun(place))
            search.all(stage.put_in_hooks(place))
            search.all(put_in_requests(place.api, known(place)))
            until(lambda: not has_unbegun(place))
        project(place.api.services.database)
        search.all(reads(Asked(place.api.services), known(place)))
        for surface in (Surface.SHOPS, Surface.ADMIN, Surface.PANEL):
            search(f"GET {surface}/stream", followed(place.api.client(surface)))
        search.all(asked_inside(place))
        search(LOG, place.log.getvalue())

        assert not search.found, "\n".join(dict.fromkeys(search.found))
        for asked in ("GET /api/users/by-username", "POST /api/users", "POST /admin/"):
            assert place.liar.n_asked(asked) >= len(FAULTS), place.liar.asked
        assert_kept(place)
    # Else there would be nothing to find.
    assert TOLD.keys() - search.seen == set()
    assert '"event": "handler crashed"' in place.log.getvalue()


def has_unbegun(place: Stage) -> bool:
    """Whether a worker has something to do now."""
    rows = place.connection.execute(
        """
        SELECT 1
          FROM counterfoil.jobs
         WHERE kind <> 'nobody-runs-it'
           AND (state = 'running' OR run_at <= counterfoil.now())
         LIMIT 1
        """
    ).fetchall()
    return bool(rows)


def asked_inside(place: Stage) -> Iterator[tuple[str, str]]:
    """Yield what the internal listener of the process answers."""
    door = Door(place.api.services.internal.probes, place.meters.metrics.registry)
    place.meters.scrape()
    for path in ("/livez", "/healthz", "/readyz", "/startupz", METRICS_PATH, "/x"):
        environ: dict[str, Any] = {"wsgi.input": BytesIO()}
        setup_testing_defaults(environ)
        environ["PATH_INFO"] = path
        told = b"".join(door(environ, lambda *_: lambda _: None))
        assert told
        yield (METRICS if path == METRICS_PATH else PROBES), told.decode()


def assert_kept(place: Stage) -> None:
    """Fail unless what must be nowhere is where it belongs: inside."""
    ((events, calls),) = place.connection.execute(
        """
        SELECT (SELECT string_agg(data::text, ' ') FROM counterfoil.events),
               (SELECT count(body) FROM counterfoil.provider_callbacks)
        """
    ).fetchall()
    for each in ("argument", "recipient", "handler's result"):
        assert marker(each) in events, each
    assert calls > 0
