"""Files of orders: what is settled, what is refused, and where it says why."""

import csv
import io
import json
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

import pytest

from application.front_door import KeyReusedError, Settled
from application.order_file import OrderFileError
from application.order_map import OrderMapError
from application.settle_file import Progress, SettledFile, settle_file
from domain.errors import InvalidRequestError
from domain.event import JsonObject
from domain.order.parse import parse

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
MAP: JsonObject = {
    "orderId": "f:{row}",
    "customerId": "{who}",
    "kind": "purchase",
    "currency": "{currency}",
    "amountMinor": "{paid:minor}",
    "lines": [{"line": 1, "type": "access", "days": "{days}", "squadIds": ["{who}"]}],
}
HEADER = "who,currency,paid,days\n"


class FrontDoor:
    """Keeps orders by their id, as the database does."""

    def __init__(self) -> None:
        self.orders: dict[object, JsonObject] = {}

    def __call__(self, request: JsonObject) -> Settled:
        key = request["orderId"]
        if request.get("customerId") == "nobody":
            code = "invalid_member"
            raise InvalidRequestError(code, "customerId", "nobody has that id")
        known = self.orders.setdefault(key, request)
        if known != request:
            told = f"order {key}"
            raise KeyReusedError(told)
        replayed = known is not request
        return Settled(
            order_id=str(key),
            stream_id=UUID(int=0),
            job_id=None,
            replayed=replayed,
            position=1,
        )


def settle(
    text: str | bytes, template: JsonObject | None, door: FrontDoor | None = None
) -> tuple[SettledFile, list[JsonObject]]:
    door = door or FrontDoor()
    data = text if isinstance(text, bytes) else text.encode()
    done = settle_file(io.BytesIO(data), template, door)
    return done, list(door.orders.values())


def refusals(done: SettledFile) -> list[tuple[int, str, str]]:
    return [(refused.line, refused.path, refused.code) for refused in done.refused]


def test_a_row_becomes_the_settlement_that_the_map_says() -> None:
    done, orders = settle(HEADER + "ann,USD,29.3,30\n", MAP)

    assert (done.settled, done.replayed, done.refused) == (1, 0, ())
    assert orders == [
        {
            "orderId": "f:1",
            "customerId": "ann",
            "kind": "purchase",
            "currency": "USD",
            "amountMinor": 2930,
            "lines": [{"line": 1, "type": "access", "days": 30, "squadIds": ["ann"]}],
        }
    ]


def test_a_second_run_changes_nothing() -> None:
    door = FrontDoor()
    text = HEADER + "ann,USD,1,30\nbob,USD,2,30\n"
    settle(text, MAP, door)

    done, orders = settle(text, MAP, door)

    assert (done.settled, done.replayed) == (0, 2)
    assert len(orders) == 2


def test_bad_lines_are_named_and_the_rest_is_settled() -> None:
    done, orders = settle(
        HEADER
        + "ann,USD,1,30\n"  # line 2
        + "nobody,USD,1,30\n"
        + "\n"
        + "cid,USD,1.005,30\n"  # line 5
        + "dan,USD,1,many\n"
        + "eve,USD,1\n"
        + 'fay,"USD\n"x,1,30\n'  # lines 8 and 9: text after the closing quote
        + "gus,USD,0.00,30\n",
        MAP,
    )

    assert refusals(done) == [
        (3, "customerId", "invalid_member"),
        (5, "amountMinor", "invalid_member"),
        (6, "lines[0].days", "invalid_member"),
        (7, "", "invalid_csv"),
        (8, "", "invalid_csv"),
    ]
    assert done.settled == 2
    assert [order["orderId"] for order in orders] == ["f:1", "f:7"]


def test_another_order_under_one_id_is_a_refused_line() -> None:
    done, _ = settle(HEADER + "a,USD,1,1\nb,USD,1,1\n", MAP | {"orderId": "same"})

    assert refusals(done) == [(3, "orderId", "idempotency_key_reused")]


@pytest.mark.parametrize(
    ("paid", "currency", "minor"),
    [
        ("0", "USD", 0),
        ("29.33", "USD", 2933),
        ("29.330", "USD", 2933),
        ("0.1", "EUR", 10),
        ("5", "JPY", 5),
        ("5.0", "JPY", 5),
        ("1.234", "KWD", 1234),
        ("1.2345", "CLF", 12345),
        ("90071992547409.93", "USD", 9007199254740993),  # a float would lose the 3
        ("1234567890123456789.01", "USD", 123456789012345678901),
    ],
)
def test_decimal_text_becomes_minor_units_exactly(
    paid: str, currency: str, minor: int
) -> None:
    _, (order,) = settle(HEADER + f"a,{currency},{paid},1\n", MAP)

    assert order["amountMinor"] == minor


@pytest.mark.parametrize(
    ("paid", "currency"),
    [
        ("29.335", "USD"),
        ("5.5", "JPY"),
        ("", "USD"),
        (" 1", "USD"),
        ("1e2", "USD"),
        ("$1", "USD"),
        (".5", "USD"),
        ("1.", "USD"),
        ("\u0661", "USD"),
        ("NaN", "USD"),
        ("1", "ZZZ"),
    ],
)
def test_what_is_no_exact_amount_is_refused(paid: str, currency: str) -> None:
    done, orders = settle(HEADER + f"a,{currency},{paid},1\n", MAP)

    assert refusals(done) == [(2, "amountMinor", "invalid_member")]
    assert orders == []


def test_only_one_whole_placeholder_of_an_integer_member_becomes_an_integer() -> None:
    template: JsonObject = {"orderId": "{n}", "slot": "{n}", "amountMinor": "1{n}"}

    _, (order,) = settle("n\n007\n", template)

    assert order == {"orderId": "007", "slot": 7, "amountMinor": "1007"}


def test_marks_line_ends_and_blank_lines_of_spreadsheets_do_not_matter() -> None:
    text = "\ufeff\r\nwho,currency,paid,days\r\n\r\nann,USD,1,30\r\n   \r\nbob,USD,2,30"

    done, orders = settle(text, MAP)

    assert done.settled == 2
    assert [order["customerId"] for order in orders] == ["ann", "bob"]
    assert [order["orderId"] for order in orders] == ["f:1", "f:2"]


@pytest.mark.parametrize(
    ("text", "line", "told"),
    [
        ("", 1, "empty"),
        ("\n \n", 1, "empty"),
        ("\nwho,paid,days\nann,1,30\n", 2, "currency"),
        ("who;currency;paid;days\n", 1, "customerId"),
        ("who,who\n", 1, "'who' twice"),
        ("who,,paid\n", 1, "column 2"),
    ],
)
def test_an_unusable_header_is_told_before_anything_is_settled(
    text: str, line: int, told: str
) -> None:
    with pytest.raises(OrderFileError, match=told) as refused:
        settle(text, MAP)

    assert refused.value.line == line


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{who", "brace"),
        ("who}", "brace"),
        ("{}", "brace"),
        ("{who:upper}", "who:upper"),
        ("{row:minor}", "row:minor"),
    ],
)
def test_an_unusable_map_is_told_with_its_member(text: str, told: str) -> None:
    template: JsonObject = {"orderId": "x", "lines": [{"type": text}]}

    with pytest.raises(OrderMapError, match=told) as refused:
        settle("who\na\n", template)

    assert refused.value.path == "lines[0].type"


def test_columns_without_a_map_are_refused() -> None:
    with pytest.raises(OrderFileError, match="--map"):
        settle("orderId,customerId\na,b\n", None)


def test_a_line_that_is_no_utf8_is_refused_by_its_column() -> None:
    done, orders = settle(HEADER.encode() + b"\xff\xfe,USD,1,1\nok,USD,1,1\n", MAP)

    assert refusals(done) == [(2, "customerId", "invalid_member")]
    assert len(orders) == 1


def test_json_lines_are_settlements_themselves() -> None:
    first, second = {"orderId": "a", "amountMinor": 5}, {"orderId": "b"}

    done, orders = settle(f"{json.dumps(first)}\n\n{json.dumps(second)}", None)

    assert done.settled == 2
    assert orders == [first, second]


def test_bad_json_lines_are_named_and_the_rest_is_settled() -> None:
    done, orders = settle(
        '{"orderId": "a"}\n{"orderId"\n[1]\n{"a": 1, "a": 2}\n'
        '{"amountMinor": NaN}\n{"orderId": "b"}\n' + "[" * 100_000 + "\n",
        None,
    )

    assert refusals(done) == [(n, "", "invalid_json") for n in (2, 3, 4, 5, 7)]
    assert [order["orderId"] for order in orders] == ["a", "b"]


def test_a_map_reads_the_numbers_of_json_lines_digit_by_digit() -> None:
    text = '{"who": "a", "currency": "USD", "paid": 90071992547409.93, "days": 30}'

    _, (order,) = settle(text, MAP)

    assert order["amountMinor"] == 9007199254740993


def test_a_json_line_without_the_column_is_refused_by_the_member() -> None:
    done, _ = settle('{"who": null, "currency": "USD", "days": 1}', MAP)

    assert refusals(done) == [(1, "customerId", "invalid_member")]


def test_progress_is_told_after_every_line() -> None:
    told: list[Progress] = []

    settle_file(
        io.BytesIO((HEADER + "a,USD,1,1\nb,USD,x,1\n").encode()),
        MAP,
        FrontDoor(),
        told.append,
    )

    assert told == [Progress(settled=1), Progress(settled=1, refused=1)]


def test_integers_of_goods_are_filled_in_wherever_they_stand() -> None:
    template: JsonObject = MAP | {
        "lines": [
            {
                "line": "{n}",
                "type": "goods",
                "provider": "{shop}",
                "product": {"kind": "{kind}", "quantity": "{n}", "months": "{n}"},
                "recipient": "{n}",
                "quantity": "{n}",
                "costMinor": "{cost:minor}",
                "priceMinor": "{n}",
            }
        ]
    }
    row = "who,currency,paid,n,shop,kind,cost\na,USD,1,7,s-1,stars,0.75\n"
    door = FrontDoor()

    settle_file(io.BytesIO(row.encode()), template, door)

    assert door.orders["f:1"]["lines"] == [
        {
            "line": 7,
            "type": "goods",
            "provider": "s-1",
            "product": {"kind": "stars", "quantity": 7, "months": 7},
            "recipient": "7",
            "quantity": 7,
            "costMinor": 75,
            "priceMinor": 7,
        }
    ]


def test_a_bad_number_of_a_product_is_told_by_its_path() -> None:
    line = {"type": "goods", "product": {"kind": "stars", "quantity": "{days}"}}
    template: JsonObject = MAP | {"lines": [line]}

    done = settle_file(
        io.BytesIO((HEADER + "a,USD,1,many\n").encode()), template, FrontDoor()
    )

    assert [(bad.line, bad.path) for bad in done.refused] == [
        (2, "lines[0].product.quantity")
    ]


def test_an_error_of_the_machine_ends_the_run() -> None:
    def broken(_: JsonObject) -> Settled:
        raise ConnectionError

    with pytest.raises(ConnectionError):
        settle_file(io.BytesIO((HEADER + "a,USD,1,1\n").encode()), MAP, broken)


def test_every_real_order_becomes_a_settlement() -> None:
    template = json.loads((EXAMPLES / "cdnow.json").read_text())
    door = FrontDoor()
    with (EXAMPLES / "cdnow_orders.csv").open("rb") as stream:
        done = settle_file(stream, template, door)
    with (EXAMPLES / "cdnow_orders.csv").open(newline="") as stream:
        paid = [row["amount_usd"] for row in csv.DictReader(stream)]

    assert (done.settled, done.replayed, done.refused) == (6919, 0, ())
    assert door.orders["cdnow:6919"]["kind"] == "purchase"
    cents = [order["amountMinor"] for order in door.orders.values()]
    assert cents == [round(float(amount) * 100) for amount in paid]
    assert door.orders["cdnow:2"]["lines"] == [
        {"line": 1, "type": "access", "days": 30},
        {
            "line": 2,
            "type": "goods",
            "provider": "stars",
            "product": {"kind": "telegram_stars", "quantity": 50},
            "recipient": "customer_00004",
            "quantity": 2,
            "costMinor": 50,
            "priceMinor": 100,
        },
    ]
    now = datetime(2026, 1, 1, tzinfo=UTC)
    assert all(parse(order, now).lines for order in door.orders.values())
