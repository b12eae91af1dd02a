"""`counterfoil settle`: a file's orders, and what is wrong with its lines."""

import json
from pathlib import Path

import pytest

from tests.api.command import Command
from tests.fixtures.database import TestDatabase

pytestmark = pytest.mark.database

CSV = "who,price\n00004,29.33\n00004,x\n00007,5.00\n00008,1.001\n"
MAP = {
    "orderId": "shop:{row}",
    "customerId": "{who}",
    "kind": "purchase",
    "currency": "USD",
    "amountMinor": "{price:minor}",
    "lines": [{"line": 1, "type": "access", "days": 30}],
}


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    orders, map_file = tmp_path / "orders.csv", tmp_path / "map.json"
    orders.write_text(CSV, "utf-8")
    map_file.write_text(json.dumps(MAP), "utf-8")
    return orders, map_file


def test_bad_lines_are_told_with_number_and_member_and_the_rest_is_settled(
    counterfoil: Command, files: tuple[Path, Path], database: TestDatabase
) -> None:
    orders, map_file = files

    result = counterfoil("settle", orders, "--map", map_file)

    assert result.code == 1
    first, second = result.err.splitlines()
    assert first.startswith(f"{orders}:3: amountMinor: ")
    assert second.startswith(f"{orders}:5: amountMinor: ")
    assert result.out == (f"{orders}: 2 settled, 0 settled before, 2 refused\n")
    paid = database.connect().execute("SELECT order_id FROM counterfoil.orders")
    assert sorted(row[0] for row in paid) == ["shop:1", "shop:3"]


def test_settling_a_file_again_changes_nothing(
    counterfoil: Command, files: tuple[Path, Path], database: TestDatabase
) -> None:
    orders, map_file = files
    orders.write_text("who,price\n00004,29.33\n", "utf-8")

    first = counterfoil("settle", orders, "--map", map_file, "--json")
    again = counterfoil("settle", orders, "--map", map_file, "--json")

    assert (first.code, again.code) == (0, 0)
    ((last,),) = (
        database.connect()
        .execute("SELECT max(position) FROM counterfoil.events")
        .fetchall()
    )
    told = {"refused": [], "position": last}
    assert first.document == {"settled": 1, "replayed": 0, **told}
    assert again.document == {"settled": 0, "replayed": 1, **told}


def test_refused_lines_are_in_the_document(
    counterfoil: Command, files: tuple[Path, Path]
) -> None:
    orders, map_file = files

    result = counterfoil("settle", orders, "--map", map_file, "--json")

    assert result.code == 1
    assert result.err == ""
    refused = result.document["refused"]
    assert [(each["line"], each["path"]) for each in refused] == [
        (3, "amountMinor"),
        (5, "amountMinor"),
    ]


def test_other_content_under_a_settled_id_is_refused(
    counterfoil: Command, tmp_path: Path
) -> None:
    """I5."""
    order = {**MAP, "orderId": "one", "customerId": "a", "amountMinor": 1}
    orders = tmp_path / "orders.jsonl"
    orders.write_text(
        json.dumps(order) + "\n" + json.dumps({**order, "amountMinor": 2}), "utf-8"
    )

    result = counterfoil("settle", orders)

    assert result.code == 1
    assert f"{orders}:2: orderId: " in result.err
    assert "(idempotency_key_reused)" in result.err


@pytest.mark.parametrize(
    ("map_text", "told"),
    [
        ("{", "is no JSON object"),
        ("[]", "is no JSON object"),
        ('{"orderId": "{nobody}"}', "'nobody'"),
        ('{"orderId": "{who"}', "orderId"),
    ],
)
def test_a_bad_map_is_refused_before_anything_is_settled(
    counterfoil: Command, files: tuple[Path, Path], map_text: str, told: str
) -> None:
    orders, map_file = files
    map_file.write_text(map_text, "utf-8")

    result = counterfoil("settle", orders, "--map", map_file)

    assert result.code == 1
    assert told in result.complaint()


def test_columns_without_a_map_are_refused_with_the_remedy(
    counterfoil: Command, files: tuple[Path, Path]
) -> None:
    result = counterfoil("settle", files[0])

    assert result.code == 1
    assert "--map" in result.complaint()


@pytest.mark.parametrize("arguments", [[], ["nothing.csv"], ["x", "y"]])
def test_wrong_usage_is_told_with_the_way_to_help(
    counterfoil: Command, arguments: list[str]
) -> None:
    result = counterfoil("settle", *arguments)

    assert result.code == 2
    assert "Try `counterfoil settle --help`." in result.complaint()
