"""Everything that a request can have wrong, one fault at a time."""

from tests.front_door.asked import GONE, MOST_MINOR, Fault

type Values = tuple[object, ...]

BAD_TEXTS: Values = (
    None,
    5,
    True,
    [],
    {},
    "",
    "a b",
    "a\n",
    "\u200b",
    "\u00a0x",
    "x\u00ad",
)
BAD_NAMES: Values = ("Mail", "1a", "_a", "ümail", "a" * 128, "mail\n")
BAD_NUMBERS: Values = (None, True, "1", 1.0, 0.5, -1.5, [], {}, 2**200, -(2**63))
BAD_INSTANTS: Values = (
    5,
    True,
    [],
    "",
    "2030-01-01",
    "2030-01-01T00:00:00",
    "2030-01-01 00:00:00Z",
    "2030-01-01T00:00:00z",
    "2030-02-29T00:00:00Z",
    "2100-02-29T00:00:00Z",
    "2030-13-01T00:00:00Z",
    "2030-04-31T00:00:00Z",
    "2030-01-00T00:00:00Z",
    "2030-01-01T24:00:00Z",
    "2030-01-01T00:60:00Z",
    "2030-01-01T00:00:60Z",
    "2030-01-01T00:00:00.1234567Z",
    "2030-01-01T00:00:00+15:00",
    "2030-01-01T00:00:00+0300",
    "1999-12-31T23:59:59Z",
    "9999-01-01T00:00:00.000001Z",
    "0000-01-01T00:00:00Z",
    "99999-01-01T00:00:00Z",
    "٢٠٣٠-01-01T00:00:00Z",
    "2030-01-01T00:00:00Z\n",
    "infinity",
    "now",
)


def nested(deep: int) -> object:
    """Return a list in a list, so deep in all."""
    return [] if deep == 1 else [nested(deep - 1)]


def bad(path: str, *values: object) -> list[Fault]:
    return [Fault(path, value) for value in values]


def texts(path: str, longest: int) -> list[Fault]:
    return bad(path, *BAD_TEXTS, "x" * (longest + 1))


def numbers(path: str, low: int, high: int) -> list[Fault]:
    return bad(path, *BAD_NUMBERS, low - 1, high + 1)


def nullable(faults: list[Fault]) -> list[Fault]:
    return [fault for fault in faults if fault.value is not None]


def instants(path: str) -> list[Fault]:
    return bad(path, *BAD_INSTANTS)


def missing(*paths: str) -> list[Fault]:
    return [Fault(path, GONE, "missing_member") for path in paths]


def not_yet(path: str, *values: object) -> list[Fault]:
    return [Fault(path, value, "not_supported_yet") for value in values]


SQUAD = "0f8fad5b-d9cb-469f-a165-70867728950e"
GOODS = {
    "line": 2,
    "type": "goods",
    "provider": "starshop",
    "product": {"kind": "telegram_stars", "quantity": 50},
    "recipient": "anna",
    "costMinor": 1,
    "priceMinor": 2,
}
LINE = {"line": 2, "type": "access", "days": 1}

SETTLEMENT_FAULTS: tuple[Fault, ...] = (
    *missing("orderId", "customerId", "kind", "currency", "amountMinor", "lines"),
    *missing("lines[0].line", "lines[0].type", "lines[0].days"),
    *texts("orderId", 128),
    *texts("customerId", 128),
    *texts("tenant", 64),
    *texts("correlationId", 128),
    *texts("kind", 32),
    Fault("kind", "gift"),
    *texts("currency", 128),
    *bad("currency", "usd", "US", "USDX", "US1", "ÜSD"),
    *numbers("amountMinor", 0, MOST_MINOR),
    *numbers("discountMinor", 0, MOST_MINOR),
    *numbers("slot", 1, 32767),
    *instants("effectiveAt"),
    *bad("lines", None, {}, [], "x", [LINE] * 101),
    *bad("lines[0]", None, [], "access", 1),
    *texts("lines[0].type", 32),
    Fault("lines[0].type", "service"),
    *numbers("lines[0].line", 1, 32767),
    *nullable(numbers("lines[0].days", 1, 36_500)),
    *numbers("lines[0].graceSeconds", 0, 31_536_000),
    *nullable(numbers("lines[0].trafficBytes", 0, 2**53 - 1)),
    *nullable(numbers("lines[0].deviceLimit", 1, 2**31 - 1)),
    *bad("lines[0].resetTraffic", None, 0, 1, "true", []),
    *bad("lines[0].squadIds", None, {}, "x", [SQUAD] * 101),
    *bad("lines[0].squadIds[0]", None, 1, "", "x", [SQUAD]),
    Fault("lines[0].squadIds[0]", SQUAD.replace("-", "")),
    Fault("lines[0].squadIds[0]", "{" + SQUAD + "}"),
    Fault("lines[0].squadIds[0]", SQUAD.replace("-4", "-9")),
    Fault("lines[0].squadIds[0]", SQUAD.replace("-a", "-7")),
    Fault("lines[0].squadIds[0]", "00000000-0000-0000-0000-000000000000"),
    Fault("lines[0].endsAt", "2030-01-01T00:00:00Z"),
    *bad("notify", None, 0, 1, "true", []),
    Fault("gift", 1, "unknown_member"),
    Fault("order_id", "x", "unknown_member"),
    Fault("lines[0].gift", 1, "unknown_member"),
    Fault("lines[0].ends_at", None, "unknown_member"),
)

# Of a purchase whose one line is of goods.
GOODS_FAULTS: tuple[Fault, ...] = (
    *missing("lines[0].line", "lines[0].type", "lines[0].provider"),
    *missing("lines[0].product", "lines[0].product.kind", "lines[0].recipient"),
    *missing("lines[0].costMinor", "lines[0].priceMinor"),
    *numbers("lines[0].line", 1, 32767),
    *texts("lines[0].provider", 32),
    *bad("lines[0].provider", "p", "P-1", "1p", "-p", "päy", "a.b", "a:b", "stars\n"),
    *bad("lines[0].product", None, [], "telegram_stars", 1),
    *texts("lines[0].product.kind", 64),
    *nullable(numbers("lines[0].product.quantity", 1, 2**31 - 1)),
    *nullable(numbers("lines[0].product.months", 1, 1_200)),
    *texts("lines[0].recipient", 128),
    *numbers("lines[0].quantity", 1, 10**6),
    *numbers("lines[0].costMinor", 0, 10**12),
    *numbers("lines[0].priceMinor", 0, 10**12),
    Fault("lines[0].days", 1, "unknown_member"),
    Fault("lines[0].gift", 1, "unknown_member"),
    Fault("lines[0].product.gift", 1, "unknown_member"),
    Fault("lines[0].product.costMinor", 1, "unknown_member"),
)

# Of an order of kind `addon`.
ADDON_FAULTS: tuple[Fault, ...] = (
    *missing("lines", "lines[0].line", "lines[0].type"),
    *not_yet("effectiveAt", "2999-01-01T00:00:00Z", "2999-01-01T00:00:00.5+05:30"),
    *bad("lines", None, {}, [], "x", [LINE] * 101),
    Fault("lines[0].type", "goods", "goods_in_addon"),
    *numbers("lines[0].line", 1, 32767),
    *nullable(numbers("lines[0].days", 1, 36_500)),
    *instants("lines[0].endsAt"),
    *numbers("lines[0].graceSeconds", 0, 31_536_000),
    *nullable(numbers("lines[0].trafficBytes", 0, 2**53 - 1)),
    *nullable(numbers("lines[0].deviceLimit", 1, 2**31 - 1)),
    *bad("lines[0].resetTraffic", None, 0, 1, "true", []),
    Fault("lines[0].resetTraffic", value=True),
    *bad("lines[0].squadIds", None, {}, "x", [SQUAD] * 101),
    *bad("lines[0].squadIds[0]", None, 1, "", "x", [SQUAD]),
    Fault("lines[0]", {"line": 1, "type": "access"}, "missing_member"),
    Fault("lines[0]", {"line": 1, "type": "access", "days": None}, "missing_member"),
    Fault("lines[0].gift", 1, "unknown_member"),
)

BAD_SENTENCES: Values = (
    *(value for value in BAD_TEXTS if value not in ("a b", "\u200b")),
    "ab",
    "x" * 401,
    " before",
    "after ",
    "after\u200b",
    "\u2060before",
    "two\nlines",
    "two\u2028lines",
    "a\x1b[2Jb",
    "a\x7fb",
    "a\u0085b",
)

REFUND_FAULTS: tuple[Fault, ...] = (
    *missing("orderId", "reason"),
    *texts("orderId", 128),
    *texts("tenant", 64),
    *texts("correlationId", 128),
    *bad("reason", *BAD_SENTENCES),
    *nullable(numbers("amountMinor", 0, MOST_MINOR)),
    *bad("lines", {}, [], "x", 1, [1] * 101),
    *numbers("lines[0]", 1, 32767),
    *bad("notify", None, 0, 1, "true", []),
    Fault("order_id", "x", "unknown_member"),
    Fault("slot", 1, "unknown_member"),
)

# A second line: its own path is told.
SECOND_LINES: tuple[tuple[Fault, str], ...] = (
    (Fault("lines[1]", LINE), "lines[1].type"),
    (Fault("lines[1]", GOODS | {"line": 1}), "lines[1].line"),
    (Fault("lines[1]", GOODS | {"priceMinor": -1}), "lines[1].priceMinor"),
    (Fault("lines[1]", None), "lines[1]"),
    (Fault("lines[1]", {}, "missing_member"), "lines[1].type"),
)

NOT_AN_OBJECT: tuple[object, ...] = (None, [], "x", 1, True)

JOB_FAULTS: tuple[Fault, ...] = (
    *missing("kind"),
    *bad("kind", *BAD_TEXTS, *BAD_NAMES),
    *bad("queue", *BAD_TEXTS, *BAD_NAMES),
    *bad("args", None, [], "x", 1, {"x": "y" * 262_144}),
    *bad("args", {"x": -(10**300), "y": "y" * 99}, {"x": nested(64)}),
    *texts("tenant", 64),
    *numbers("priority", 1, 4),
    *instants("runAt"),
    *instants("deadline"),
    *nullable(texts("uniqueKey", 255)),
    *nullable(texts("serialKey", 255)),
    *bad(
        "serialKey",
        "fanout:c:1",
        "goods:01a22a05",
        "entitlement:01a22a05-b1a4-7dd6-b683-c6dbc72671be",
    ),
    *nullable(texts("correlationId", 128)),
    *nullable(numbers("concurrencyLimit", 1, 1000)),
    *nullable(numbers("maxAttempts", 1, 1000)),
    *bad("notify", None, 0, 1, "true", []),
    Fault("unique_key", "x", "unknown_member"),
)
