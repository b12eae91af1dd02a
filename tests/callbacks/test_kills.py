"""SIGKILL of whoever takes a callback, at each of its commits; then it comes once more.

It commits three times: what came, what follows from it, and what became of it.  The
process talks through a proxy, which keeps a COMMIT back or the answer to it.  The
provider that got no answer sends again, and its delivery is told once all the same.
"""

import base64
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.api.command import Command
from tests.callbacks.stage import Shop, body_of, signed
from tests.fixtures.database import TestDatabase
from tests.fixtures.proxy import Proxy

pytestmark = [
    pytest.mark.crash,
    pytest.mark.timeout(150),
    pytest.mark.usefixtures("heads_equal_folds"),
]

KEYS = f"k1:{base64.b64encode(bytes(range(32))).decode()}"
COMMITS = {
    "kept": "INSERT INTO counterfoil.provider_callbacks",
    "told": "goods.purchase_confirmed",
    "marked": "UPDATE counterfoil.provider_callbacks",
}
"""Words of the statement before each COMMIT."""

BEFORE = {
    ("kept", "before"): ([], 0),
    ("kept", "after"): ([("failed", "interrupted")], 0),
    ("told", "before"): ([("failed", "interrupted")], 0),
    ("told", "after"): ([("failed", "interrupted")], 1),
    ("marked", "before"): ([("failed", "interrupted")], 1),
    ("marked", "after"): ([("accepted", None)], 1),
}
"""What is in the table, and how often it was delivered, when it is dead."""


@pytest.fixture
def counterfoil(database: TestDatabase) -> Iterator[Command]:
    command = Command(
        COUNTERFOIL_DATABASE_URL=database.url, COUNTERFOIL_DATA_ENCRYPTION_KEYS=KEYS
    )
    try:
        yield command
    finally:
        command.close()


@pytest.mark.parametrize(("commit", "side"), BEFORE)
def test_a_callback_is_told_once_whenever_its_taker_dies(  # noqa: PLR0913 - fixtures
    shop: Shop, counterfoil: Command, proxy: Proxy, tmp_path: Path,
    *, commit: str, side: str,
) -> None:  # fmt: skip
    delivery = shop.bought()
    body = body_of(shop.key(delivery))
    headers = signed(body, shop.now())
    (tmp_path / "body").write_bytes(body)
    told = "".join(f"{name}: {value}\n" for name, value in headers.items())
    (tmp_path / "headers").write_text(f"POST / HTTP/1.1\n{told}", "utf-8")
    line = (
        "callbacks", "record", "stars",
        "--headers", tmp_path / "headers", "--body", tmp_path / "body",
    )  # fmt: skip
    hold = proxy.hold_before_commit if side == "before" else proxy.hold_commit_answer
    plan = hold(of=COMMITS[commit])
    killed = counterfoil.start(*line, COUNTERFOIL_DATABASE_URL=proxy.conninfo)
    plan.wait(60)
    killed.process.kill()
    assert killed.end().out == ""
    proxy.close_all()

    assert (shop.rows(), shop.times_delivered(delivery)) == BEFORE[commit, side]
    again = counterfoil(*line)

    assert again.code == 0, again.err
    states = [state for (state,) in shop.rows("state")]
    is_over = (commit, side) == ("marked", "after")
    assert states == (["accepted", "duplicate"] if is_over else ["accepted"])
    assert shop.times_delivered(delivery) == 1
