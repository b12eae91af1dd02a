"""GET /api/users/stream: ascending pages by cursor, and its filters."""

import secrets

from tests.simulators.facts.case import Act, Case, asking
from tests.simulators.facts.stage import Stage, User, response

STREAM = "/api/users/stream"


def refused(member: str) -> tuple[object, ...]:
    return (400, "invalid", member)


def tagged(stage: Stage, number: int) -> tuple[str, list[User]]:
    """Return a tag that so many new users have, and the users."""
    tag = f"F_{secrets.token_hex(5).upper()}"
    return tag, [stage.born(tag=tag) for _ in range(number)]


def page(stage: Stage, query: str) -> dict[str, object]:
    found: dict[str, object] = response(stage.client.get(f"{STREAM}?{query}"))
    return found


def ids(found: dict[str, object]) -> list[int]:
    users = found["users"]
    assert isinstance(users, list)
    return [user["id"] for user in users]


def the_order(stage: Stage) -> object:
    tag, users = tagged(stage, 3)
    return ids(page(stage, f"tag={tag}")) == [user["id"] for user in users]


def after_a_cursor(stage: Stage) -> object:
    tag, users = tagged(stage, 3)
    found = page(stage, f"tag={tag}&cursor={users[0]['id']}")
    return ids(found) == [user["id"] for user in users[1:]]


def the_next_cursor(stage: Stage) -> object:
    tag, users = tagged(stage, 3)
    found = page(stage, f"tag={tag}&size=2")
    return found["nextCursor"] == str(users[1]["id"]), found["hasMore"]


def the_last_cursor(stage: Stage) -> object:
    tag, _ = tagged(stage, 2)
    found = page(stage, f"tag={tag}&size=2")
    return found["nextCursor"], found["hasMore"]


def the_default_size(stage: Stage) -> object:
    tag, _ = tagged(stage, 251)
    found = page(stage, f"tag={tag}")
    return len(ids(found)), found["hasMore"]


def no_match(stage: Stage) -> object:
    return page(stage, f"tag=F_{secrets.token_hex(5).upper()}")


def filtered(query: str, **members: object) -> Act:
    """Stream by that filter as well; see whether it finds the one it is about."""

    def act(stage: Stage) -> object:
        tag, _ = tagged(stage, 1)
        user = stage.born(tag=tag, **members)
        return ids(page(stage, f"tag={tag}&{query}")) == [user["id"]]

    return act


CASES = (
    Case("stream.ascending", the_order, answer=True),
    Case("stream.cursor", after_a_cursor, answer=True),
    Case("stream.next-cursor", the_next_cursor, (True, True)),
    Case("stream.last-cursor", the_last_cursor, (None, False)),
    Case("stream.size-1", asking("GET", f"{STREAM}?size=1"), (200,)),
    Case("stream.size-1000", asking("GET", f"{STREAM}?size=1000"), (200,)),
    Case("stream.size-0", asking("GET", f"{STREAM}?size=0"), refused("size")),
    Case("stream.size-1001", asking("GET", f"{STREAM}?size=1001"), refused("size")),
    Case("stream.default-size", the_default_size, (250, True)),
    Case(
        "stream.no-match", no_match, {"users": [], "nextCursor": None, "hasMore": False}
    ),
    Case("stream.bad-size", asking("GET", f"{STREAM}?size=x"), refused("size")),
    Case("stream.bad-cursor", asking("GET", f"{STREAM}?cursor=x"), refused("cursor")),
    Case(
        "stream.bad-status", asking("GET", f"{STREAM}?status=GONE"), refused("status")
    ),
    Case(
        "stream.bad-telegram",
        asking("GET", f"{STREAM}?telegramId=x"),
        refused("telegramId"),
    ),
    Case(
        "stream.negative-telegram",
        asking("GET", f"{STREAM}?telegramId=-1"),
        refused("telegramId"),
    ),
    Case("stream.fraction", asking("GET", f"{STREAM}?size=1.5"), (500, "A024")),
    Case("stream.unknown", asking("GET", f"{STREAM}?size=1&colour=red"), (200,)),
    Case(
        "stream.by-status", filtered("status=DISABLED", status="DISABLED"), answer=True
    ),
    Case("stream.by-telegram", filtered("telegramId=77", telegramId=77), answer=True),
)
