"""`counterfoil callbacks`: taken, listed, shown and replayed by command."""

import base64
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.api.command import Command
from tests.callbacks.stage import Shop, body_of, signed
from tests.fixtures.database import TestDatabase

pytestmark = pytest.mark.database

KEYS = f"k1:{base64.b64encode(bytes(range(32))).decode()}"


@pytest.fixture
def counterfoil(database: TestDatabase) -> Iterator[Command]:
    command = Command(
        COUNTERFOIL_DATABASE_URL=database.url,
        COUNTERFOIL_DATA_ENCRYPTION_KEYS=KEYS,
        COUNTERFOIL_OPERATOR="olga",
    )
    try:
        yield command
    finally:
        command.close()


def files(shop: Shop, folder: Path, body: bytes, **more: str) -> tuple[object, ...]:
    """Return the options that name a callback's headers and body."""
    headers = signed(body, shop.now()) | more
    lines = "".join(f"{name}: {value}\n" for name, value in headers.items())
    (folder / "headers").write_text(lines, "utf-8")
    (folder / "body").write_bytes(body)
    return ("--headers", folder / "headers", "--body", folder / "body")


def test_a_callback_goes_its_way_by_commands(
    shop: Shop, counterfoil: Command, tmp_path: Path
) -> None:
    """It is about nothing first, is listed and shown, and replayed with a reason."""
    given = files(shop, tmp_path, body_of("goods:elsewhere:1:1"))

    taken = counterfoil("callbacks", "record", "stars", *given)

    assert taken.code == 0, taken.err
    assert "ignored (unknown_key)" in taken.out
    assert "replay it when it has" in taken.err
    listed = counterfoil("callbacks", "list", "--status", "ignored", "--json").document
    (line,) = listed["callbacks"]
    assert (line["status"], line["code"]) == ("ignored", "unknown_key")
    shown = counterfoil("callbacks", "show", line["id"])
    assert "event:     evt_1" in shown.out
    assert "elsewhere" not in shown.out + listed.__repr__()
    again = counterfoil(
        "callbacks", "replay", line["id"], "--reason", "the provider was renamed"
    )
    assert again.code == 0, again.err
    assert "ignored (unknown_key)" in again.out
    assert len(shop.remarks("callback.replayed")) == 1


def test_what_is_rejected_or_contradicts_ends_with_1(
    shop: Shop, counterfoil: Command, tmp_path: Path
) -> None:
    forged = files(
        shop, tmp_path, body_of("k"), **{"Webhook-Signature": "v1,bm90aGluZw=="}
    )

    result = counterfoil("callbacks", "record", "stars", *forged, "--json")

    assert result.code == 1
    assert result.document["code"] == "signature_invalid"
    refused = counterfoil(
        "callbacks", "replay", result.document["callbackId"], "--reason", "try it"
    )
    assert refused.code == 1
    assert "nobody has signed it" in refused.err


def test_an_id_that_is_none_is_a_mistake(counterfoil: Command) -> None:
    assert counterfoil("callbacks", "show", "nonsense").code == 2
    missing = counterfoil("callbacks", "show", "01976f3e-0000-7000-8000-000000000001")
    assert missing.code == 1
    assert "there is no callback" in missing.complaint()
