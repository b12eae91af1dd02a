"""Generated requests: valid ones, and valid ones with exactly one thing wrong."""

from copy import deepcopy
from datetime import UTC, datetime, timedelta, timezone
from itertools import pairwise
from typing import Any, NamedTuple

from hypothesis import strategies as st

type Request = dict[str, Any]

MOST_MINOR = 2**63 - 1
EMOJI_AND_QUOTES = "'\"\\{}%🎁éЖ漢:/"
KINDS = ("purchase", "renewal", "extension", "upgrade", "downgrade")

visible = st.characters(
    codec="utf-8",
    exclude_categories=["Cc", "Cf", "Cs", "Cn", "Zs", "Zl", "Zp"],
) | st.sampled_from(EMOJI_AND_QUOTES)


def ids(longest: int) -> st.SearchStrategy[str]:
    return st.text(visible, min_size=1, max_size=longest)


amounts = st.integers(0, MOST_MINOR) | st.sampled_from([0, 1, MOST_MINOR])


@st.composite
def instants(draw: st.DrawFn, low: datetime, high: datetime) -> str:
    """Draw an instant as a caller may spell it: any offset, up to six digits."""
    at = draw(st.datetimes(low, high, timezones=st.just(UTC)))
    offset = timedelta(minutes=draw(st.integers(-14 * 60, 14 * 60)))
    text = at.astimezone(timezone(offset)).isoformat(timespec="microseconds")
    digits = draw(st.integers(0, 6))
    whole, zone = text[:19], text[26:]
    fraction = f".{text[20 : 20 + digits]}" if digits else ""
    if zone == "+00:00" and draw(st.booleans()):
        zone = "Z"
    return whole + fraction + zone


future_or_past = instants(datetime(2000, 1, 3), datetime(9998, 12, 30))  # noqa: DTZ001 -- bounds for hypothesis, which adds UTC
past = instants(datetime(2000, 1, 3), datetime(2020, 1, 1))  # noqa: DTZ001 -- as above

squads = st.lists(
    st.uuids(version=4).map(str).flatmap(lambda u: st.sampled_from([u, u.upper()])),
    max_size=5,
    unique_by=str.lower,
)


@st.composite
def lines(draw: st.DrawFn) -> Request:
    """Draw one access line."""
    line = draw(
        st.fixed_dictionaries(
            {"line": st.integers(1, 32767), "type": st.just("access")},
            optional={
                "graceSeconds": st.integers(0, 31_536_000),
                "trafficBytes": st.none() | st.integers(0, 2**53 - 1),
                "deviceLimit": st.none() | st.integers(1, 2**31 - 1),
                "squadIds": squads,
                "resetTraffic": st.booleans(),
            },
        )
    )
    if draw(st.booleans()):
        line["days"] = draw(st.integers(1, 36_500))
        if draw(st.booleans()):
            line["endsAt"] = None
    else:
        line["endsAt"] = draw(future_or_past)
    return line


@st.composite
def addon_lines(draw: st.DrawFn) -> Request:
    """Draw the line of an add-on, which changes at least one thing."""
    changes = {
        "days": st.none() | st.integers(1, 36_500),
        "graceSeconds": st.integers(0, 31_536_000),
        "trafficBytes": st.none() | st.integers(0, 2**53 - 1),
        "deviceLimit": st.none() | st.integers(1, 2**31 - 1),
        "squadIds": squads,
    }
    line = draw(
        st.fixed_dictionaries(
            {"line": st.integers(1, 32767), "type": st.just("access")},
            optional={**changes, "resetTraffic": st.sampled_from([False])},
        )
    )
    if line.get("days") is None and draw(st.booleans()):
        line["endsAt"] = draw(st.none() | future_or_past)
    if not {name for name in (*changes, "endsAt") if name in line} - _emptied(line):
        line["trafficBytes"] = draw(changes["trafficBytes"])
    return line


def _emptied(line: Request) -> set[str]:
    return {name for name in ("days", "endsAt") if line.get(name) is None}


goods_lines = st.fixed_dictionaries(
    {
        "line": st.integers(1, 32767),
        "type": st.just("goods"),
        "provider": st.from_regex(r"[a-z][a-z0-9_-]{1,31}", fullmatch=True),
        "product": st.fixed_dictionaries(
            {"kind": ids(64)},
            optional={
                "quantity": st.none() | st.integers(1, 2**31 - 1),
                "months": st.none() | st.integers(1, 1_200),
            },
        ),
        "recipient": ids(128),
        "costMinor": st.integers(0, 10**12),
        "priceMinor": st.integers(0, 10**12),
    },
    optional={"quantity": st.integers(1, 10**6)},
)


@st.composite
def sold_lines(draw: st.DrawFn, access: int = 1) -> list[Request]:
    """Draw lines of goods, perhaps one of access among them, numbered anyhow."""
    sold = draw(st.lists(goods_lines, min_size=1 - access, max_size=4))
    drawn: list[Request] = [*sold, *(draw(lines()) for _ in range(access))]
    numbers = st.lists(
        st.integers(1, 32767),
        min_size=len(drawn),
        max_size=len(drawn),
        unique=True,
    )
    told = zip(draw(st.permutations(drawn)), draw(numbers), strict=True)
    return [line | {"line": number} for line, number in told]


_common = {
    "orderId": ids(128),
    "customerId": ids(128),
    "currency": st.sampled_from(["USD", "RUB", "JPY", "XTS"]),
    "amountMinor": amounts,
}
_optional = {
    "tenant": ids(64),
    "discountMinor": amounts,
    "slot": st.integers(1, 32767),
    "effectiveAt": st.none() | past | future_or_past,
    "correlationId": ids(128),
    "notify": st.booleans(),
}

orders = st.fixed_dictionaries(
    _common | {"kind": st.sampled_from(KINDS), "lines": st.tuples(lines()).map(list)},
    optional=_optional,
)
sales = st.fixed_dictionaries(
    _common | {"kind": st.just("purchase"), "lines": sold_lines(0) | sold_lines(1)},
    optional=_optional,
) | st.fixed_dictionaries(
    _common | {"kind": st.sampled_from(KINDS), "lines": sold_lines(1)},
    optional=_optional,
)
addons = st.fixed_dictionaries(
    _common | {"kind": st.just("addon"), "lines": st.tuples(addon_lines()).map(list)},
    optional=_optional | {"effectiveAt": st.none() | past},
)
topups = st.fixed_dictionaries(
    _common | {"kind": st.just("topup")}, optional=_optional | {"lines": st.just([])}
)
settlements = orders | sales | addons | topups

sentences = st.text(visible | st.just(" "), min_size=3, max_size=400).filter(
    lambda text: text == text.strip(" ")
)
refunds = st.fixed_dictionaries(
    {"orderId": ids(128), "reason": sentences},
    optional={
        "tenant": ids(64),
        "lines": st.none()
        | st.lists(st.integers(1, 32767), min_size=1, max_size=5, unique=True),
        "amountMinor": st.none() | amounts,
        "correlationId": ids(128),
        "notify": st.booleans(),
    },
)

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(-1e15, 1e15).filter(lambda f: f == 0 or abs(f) > 1e-4)
    | st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=140)
    | st.sampled_from(["purchase", "topup", "access", "2024-02-30T00:00:00Z", "USD"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.text(st.characters(codec="utf-8", exclude_characters="\x00")),
            inner,
            max_size=3,
        )
    ),
    max_leaves=5,
)

args = st.dictionaries(
    st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=20),
    json_values,
    max_size=4,
)
names = st.from_regex(r"[a-z][a-z0-9_.-]{0,126}", fullmatch=True)
_jobs = st.fixed_dictionaries(
    {"kind": names},
    optional={
        "args": args,
        "tenant": ids(64),
        "queue": names,
        "priority": st.integers(1, 4),
        "runAt": st.none() | future_or_past,
        "uniqueKey": st.none() | ids(255),
        "serialKey": st.none() | ids(255),
        "maxAttempts": st.none() | st.integers(1, 1000),
        "deadline": st.none() | future_or_past,
        "correlationId": st.none() | ids(128),
        "notify": st.booleans(),
    },
)
_limits = st.none() | st.integers(1, 1000)


@st.composite
def _limited(draw: st.DrawFn) -> Request:
    """Draw a job with a limit, which only one with a serial key may have."""
    request = draw(_jobs)
    is_keyed = request.get("serialKey") is not None
    return request | {"concurrencyLimit": draw(_limits if is_keyed else st.none())}


jobs = _jobs | _limited()


class Fault(NamedTuple):
    """One member made wrong, and how it has to be refused."""

    path: str
    value: object
    code: str = "invalid_member"


class Gone:
    """Says that the member is taken out."""


GONE = Gone()


def put(request: Request, path: str, value: object) -> Request:
    """Return `request` with the member at `path` set, or taken out.

    A list or an object that is not there yet, or is null, is made.
    """
    changed = deepcopy(request)
    *way, last = path.replace("[", ".").replace("]", "").split(".")
    place: Any = changed
    for step, below in pairwise((*way, last)):
        if isinstance(place, dict) and place.get(step) is None:
            place[step] = [] if below.isdigit() else {}
        place = place[int(step) if step.isdigit() else step]
    key: Any = int(last) if last.isdigit() else last
    if value is GONE:
        place.pop(key, None)
    elif isinstance(place, list) and key == len(place):
        place.append(value)
    else:
        place[key] = value
    return changed
