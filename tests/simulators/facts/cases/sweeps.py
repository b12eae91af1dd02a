"""EXPIRED at seconds 0 and 30, LIMITED at seconds 0 and 45; the clock is moved."""

from tests.simulators.facts.case import Act, Case, Need
from tests.simulators.facts.stage import Stage, User
from tests.simulators.stage import NOON, PAST

MINUTE = NOON - NOON % 60_000


def at(stage: Stage, second: float) -> None:
    """Put the clock to that second of the case's minute, or of a later one."""
    stage.clock.now = MINUTE + round(second * 1000)


def expired_at(born_at: float, *looks: float, status: str = "ACTIVE") -> Act:
    """Create a user whose end has passed; see his status at those seconds."""

    def act(stage: Stage) -> object:
        at(stage, born_at)
        return seen(stage, stage.born(expireAt=PAST, status=status), *looks)

    return act


def limited_at(
    born_at: float, *looks: float, used: int = 5000, limit: int = 1000
) -> Act:
    """Create a user and use his traffic; see his status at those seconds."""

    def act(stage: Stage) -> object:
        at(stage, born_at)
        user = stage.born(trafficLimitBytes=limit)
        stage.panel.use_traffic(user["id"], used)
        return seen(stage, user, *looks)

    return act


def seen(stage: Stage, user: User, *looks: float) -> list[object]:
    statuses: list[object] = []
    for second in looks:
        at(stage, second)
        statuses.append(stage.get(user)["status"])
    return statuses


def enabled_and_expired_again(stage: Stage) -> object:
    at(stage, 10)
    user = stage.born(expireAt=PAST, status="EXPIRED")
    stage.act(user, "enable")
    return seen(stage, user, 29, 30)


def enabled_and_limited_again(stage: Stage) -> object:
    at(stage, 10)
    user = stage.born(trafficLimitBytes=1000, status="LIMITED")
    stage.panel.use_traffic(user["id"], 5000)
    stage.act(user, "enable")
    return seen(stage, user, 44, 45)


def moved_by_expiry(stage: Stage) -> object:
    at(stage, 10)
    user = stage.born(expireAt=PAST)
    at(stage, 30)
    after = stage.get(user)
    return after["status"], after["updatedAt"] != user["updatedAt"]


def moved_by_limit(stage: Stage) -> object:
    at(stage, 10)
    user = stage.born(trafficLimitBytes=1000)
    stage.panel.use_traffic(user["id"], 5000)
    at(stage, 45)
    after = stage.get(user)
    return after["status"], after["updatedAt"] != user["updatedAt"]


ACTIVE, EXPIRED, LIMITED = "ACTIVE", "EXPIRED", "LIMITED"
CASES = tuple(
    Case(fact, done, answer, Need.CLOCK)
    for fact, done, answer in (
        ("sweep.expired-30", expired_at(10, 29.999, 30), [ACTIVE, EXPIRED]),
        ("sweep.expired-0", expired_at(31, 59.999, 60), [ACTIVE, EXPIRED]),
        ("sweep.expired-next-minute", expired_at(70, 89.999, 90), [ACTIVE, EXPIRED]),
        ("sweep.limited-next-minute", limited_at(70, 104.999, 105), [ACTIVE, LIMITED]),
        ("sweep.limited-45", limited_at(10, 44.999, 45), [ACTIVE, LIMITED]),
        ("sweep.limited-0", limited_at(46, 59.999, 60), [ACTIVE, LIMITED]),
        ("sweep.limited-not-30", limited_at(10, 30), [ACTIVE]),
        ("sweep.expired-not-45", expired_at(31, 45), [ACTIVE]),
        ("sweep.from-limited", expired_at(10, 30, status=LIMITED), [EXPIRED]),
        ("sweep.never-disabled", expired_at(10, 60, status="DISABLED"), ["DISABLED"]),
        ("sweep.used-up", limited_at(10, 60, used=1000), [LIMITED]),
        ("sweep.not-used-up", limited_at(10, 60, used=999), [ACTIVE]),
        ("sweep.no-limit", limited_at(10, 60, limit=0), [ACTIVE]),
        (
            "sweep.past-on-create",
            expired_at(0, 0, 29.999, 30),
            [ACTIVE, ACTIVE, EXPIRED],
        ),
        ("sweep.enabled-expired", enabled_and_expired_again, [ACTIVE, EXPIRED]),
        ("sweep.enabled-limited", enabled_and_limited_again, [ACTIVE, LIMITED]),
        ("updated-at.expired-sweep", moved_by_expiry, (EXPIRED, True)),
        ("updated-at.limited-sweep", moved_by_limit, (LIMITED, False)),
    )
)
