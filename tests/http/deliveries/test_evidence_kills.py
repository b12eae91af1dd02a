"""SIGKILL of the API while it takes evidence: a row names a file that is there."""

import json
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from uuid import UUID

import httpx
import pytest

from api.http.surface import Surface
from tests.api.command import Command, Started
from tests.fixtures.database import TestDatabase
from tests.fixtures.http import Api
from tests.fixtures.proxy import Proxy
from tests.http.deliveries.test_evidence import DIGEST, PNG, rows
from tests.operators.deliveries.goods import Shop

pytestmark = [pytest.mark.crash, pytest.mark.timeout(150)]


def started(counterfoil: Command, url: str) -> tuple[Started, str]:
    """Return an API that answers, and its address."""
    api = counterfoil.start("api", "--json", COUNTERFOIL_DATABASE_URL=url)
    return api, json.loads(api.wait_for('"api"'))["api"]


def send(ann: httpx.Client, address: str, delivery: UUID) -> int | None:
    """Return the status of the answer, if there is one."""
    url = f"{address}/v1/panel/deliveries/{delivery}/evidence"
    try:
        answer = httpx.post(url, content=PNG, headers=ann.headers, timeout=90)
    except httpx.TransportError:
        return None
    return answer.status_code


@pytest.fixture
def counterfoil(tmp_path: Path) -> Iterator[Command]:
    command = Command(
        COUNTERFOIL_DATA_DIR=str(tmp_path / "data"),
        COUNTERFOIL_HTTP_ADDR="127.0.0.1:0",
    )
    try:
        yield command
    finally:
        command.close()


@pytest.mark.parametrize(("side", "there"), [("before", 0), ("after", 1)])
def test_a_row_names_a_file_that_is_there_whenever_the_api_dies(  # noqa: PLR0913 - fixtures
    database: TestDatabase, api: Api, shop: Shop, proxy: Proxy, tmp_path: Path,
    *, counterfoil: Command, side: str, there: int,
) -> None:  # fmt: skip
    delivery, ann = shop.review(), api.client(Surface.PANEL)
    folder = tmp_path / "data" / "evidence"
    killed, address = started(counterfoil, proxy.conninfo)
    hold = proxy.hold_before_commit if side == "before" else proxy.hold_commit_answer
    plan = hold(of="INSERT INTO counterfoil.delivery_evidence")
    asking = Thread(target=send, args=(ann, address, delivery))
    asking.start()
    plan.wait(60)
    killed.process.kill()
    killed.end()
    asking.join()
    proxy.close_all()

    assert (folder / DIGEST).read_bytes() == PNG
    assert len(rows(shop)) == there
    _, address = started(counterfoil, database.url)
    assert send(ann, address, delivery) == (200 if there else 201)

    assert len(rows(shop)) == 1
    assert {file.name for file in folder.iterdir()} == {DIGEST, "FOLDER"}
