"""POST /api/users: what is accepted, what is kept, what is refused."""

import secrets
from collections import Counter

from tests.simulators.facts.case import Act, Case, created, creating, stored
from tests.simulators.facts.stage import ABSENT, Stage, fresh_name, told
from tests.simulators.stage import FUTURE, PAST, UNKNOWN

INVALID = (400, "invalid")
FAILED = (500, "A018")
SOON = "2030-01-01T00:00:00"


def a_minimal_one_equals_its_reading(stage: Stage) -> object:
    user = stage.born()
    return user == stage.get(user)


def twice(second: str, **members: object) -> Act:
    """Create two users alike; the second one's name is `second`, or the first one's."""

    def act(stage: Stage) -> object:
        first = stage.born(**members)
        name = second or first["username"]
        return told(stage.create(username=name, **members))

    return act


def a_name_in_capitals(stage: Stage) -> object:
    name = fresh_name()
    stage.born(username=name)
    return told(stage.create(username=name.upper()))


def the_words_of_a_taken_name(stage: Stage) -> object:
    user = stage.born()
    return stage.create(username=user["username"]).json()["message"]


def ten_at_once(stage: Stage) -> object:
    body = {"username": fresh_name(), "expireAt": FUTURE}
    return Counter(map(told, stage.at_once(10, "POST", "/api/users", body)))


def an_id_in_the_body(stage: Stage) -> object:
    return stage.born(id=900_000_001)["id"] != 900_000_001


def the_kind_of_an_id(stage: Stage) -> object:
    return type(stage.born()["id"]).__name__


def the_number_of_keys(stage: Stage) -> object:
    return len(stage.born())


def the_words_of_a_null_device_limit(stage: Stage) -> object:
    answer = stage.create(hwidDeviceLimit=None)
    return [issue["message"] for issue in answer.json()["errors"]]


def the_form_of_expiry(stage: Stage) -> object:
    return stage.born(expireAt="2031-02-03T04:05Z")["expireAt"]


def a_null_telegram_id(stage: Stage) -> object:
    return stage.born(telegramId=None)["telegramId"]


MINIMAL = (
    Case("minimal.answer", creating(), (201,)),
    Case("minimal.status", created("status"), "ACTIVE"),
    Case("minimal.traffic", created("trafficLimitBytes"), 0),
    Case("minimal.strategy", created("trafficLimitStrategy"), "NO_RESET"),
    Case("minimal.devices", created("hwidDeviceLimit"), None),
    Case("minimal.squads", created("activeInternalSquads"), []),
    Case("minimal.telegram", created("telegramId"), None),
    Case("minimal.email", created("email"), None),
    Case("minimal.description", created("description"), None),
    Case("minimal.tag", created("tag"), None),
    Case("minimal.external-squad", created("externalSquadUuid"), None),
    Case("minimal.threshold", created("lastTriggeredThreshold"), 0),
    Case(
        "minimal.usage",
        created("userTraffic"),
        {
            "usedTrafficBytes": 0,
            "lifetimeUsedTrafficBytes": 0,
            "onlineAt": None,
            "firstConnectedAt": None,
            "lastConnectedNodeUuid": None,
        },
    ),
    Case("minimal.keys", the_number_of_keys, 24),
    Case("minimal.id", the_kind_of_an_id, "int"),
    Case("minimal.read", a_minimal_one_equals_its_reading, answer=True),
)
NAMES = (
    Case("name.taken", twice(""), (400, "A019")),
    Case("name.taken-words", the_words_of_a_taken_name, "User username already exists"),
    Case("name.case", a_name_in_capitals, (201,)),
    Case("name.at-once", ten_at_once, {(201,): 1, (400, "A019"): 9}),
    Case(
        "name.short-uuid",
        twice(fresh_name(), shortUuid=secrets.token_hex(8)),
        (400, "A020"),
    ),
    Case("name.3", creating(username=secrets.token_hex(2)[:3]), (201,)),
    Case("name.36", creating(username="f" * 20 + secrets.token_hex(8)), (201,)),
    Case("name.letters", creating(username=f"aZ-9_{secrets.token_hex(4)}"), (201,)),
    Case("name.2", creating(username="ab"), (*INVALID, "username")),
    Case("name.37", creating(username="f" * 37), (*INVALID, "username")),
    Case("name.other-letters", creating(username="a b c"), (*INVALID, "username")),
)
EXPIRY = (
    Case("expiry.past", creating(expireAt=PAST), (201,)),
    Case("expiry.past-status", created("status", expireAt=PAST), "ACTIVE"),
    *(
        Case(f"expiry.{name}", creating(expireAt=value), (*INVALID, "expireAt"))
        for name, value in {
            "missing": ABSENT,
            "null": None,
            "number": 1_893_456_000_000,
            "date-only": "2030-01-01",
            "space": "2030-01-01 00:00:00Z",
            "offset-without-colon": f"{SOON}+0300",
            "30-february": "2030-02-30T00:00:00Z",
            "24-hours": "2030-01-01T24:00:00Z",
            "5-digit-year": "12030-01-01T00:00:00Z",
            "lower-t": "2030-01-01t00:00:00Z",
            "lower-z": f"{SOON}z",
        }.items()
    ),
    Case("precision.123456", stored("expireAt", f"{SOON}.123456Z"), f"{SOON}.123Z"),
    Case("precision.999999", stored("expireAt", f"{SOON}.999999Z"), f"{SOON}.999Z"),
    Case("precision.utc", stored("expireAt", f"{SOON}+00:00"), FUTURE),
    Case("precision.moscow", stored("expireAt", "2030-01-01T03:00:00+03:00"), FUTURE),
    Case("precision.local", stored("expireAt", SOON), FUTURE),
    Case("precision.seconds", creating(expireAt="2030-01-01T00:00Z"), (201,)),
    Case("precision.form", the_form_of_expiry, "2031-02-03T04:05:00.000Z"),
)
DEVICES = (
    Case(
        "device-limit.null",
        creating(hwidDeviceLimit=None),
        (*INVALID, "hwidDeviceLimit"),
    ),
    Case(
        "device-limit.null-words",
        the_words_of_a_null_device_limit,
        ["Invalid input: expected number, received null"],
    ),
    Case("device-limit.absent", created("hwidDeviceLimit"), None),
    Case("device-limit.0", stored("hwidDeviceLimit", 0), 0),
    Case("device-limit.5", stored("hwidDeviceLimit", 5), 5),
    Case("device-limit.most", stored("hwidDeviceLimit", 2147483647), 2147483647),
    *(
        Case(
            f"device-limit.{name}",
            creating(hwidDeviceLimit=value),
            (*INVALID, "hwidDeviceLimit"),
        )
        for name, value in {"negative": -1, "fraction": 1.5, "text": "5"}.items()
    ),
    Case("device-limit.too-big", creating(hwidDeviceLimit=2147483648), FAILED),
)
TRAFFIC = (
    Case("traffic.0", stored("trafficLimitBytes", 0), 0),
    Case("traffic.exact", stored("trafficLimitBytes", 2**53 - 1), 2**53 - 1),
    Case("traffic.rounded", stored("trafficLimitBytes", 2**53 + 1), 2**53),
    *(
        Case(
            f"traffic.{name}",
            creating(trafficLimitBytes=value),
            (*INVALID, "trafficLimitBytes"),
        )
        for name, value in {"negative": -1, "null": None, "text": "5"}.items()
    ),
    Case("traffic.fraction", creating(trafficLimitBytes=1.5), FAILED),
    Case("traffic.too-big", creating(trafficLimitBytes=2**63), FAILED),
)
STATUS = (
    *(
        Case(f"status.{status.lower()}", stored("status", status), status)
        for status in ("ACTIVE", "DISABLED", "LIMITED", "EXPIRED")
    ),
    Case("status.other", creating(status="GONE"), (*INVALID, "status")),
)
MEMBERS = (
    Case("telegram.number", stored("telegramId", 123456789), 123456789),
    Case("telegram.null", a_null_telegram_id, None),
    Case("telegram.0", stored("telegramId", 0), None),
    Case("telegram.fraction", creating(telegramId=1.5), FAILED),
    Case("description.null", creating(description=None), (*INVALID, "description")),
    Case("description.nul", creating(description="a\0b"), FAILED),
    Case("body.unknown-member", creating(nonsense=1), (201,)),
    Case("body.id", an_id_in_the_body, answer=True),
    Case("body.uuid", creating(uuid=UNKNOWN), (201,)),
)
CASES = (*MINIMAL, *NAMES, *EXPIRY, *DEVICES, *TRAFFIC, *STATUS, *MEMBERS)
