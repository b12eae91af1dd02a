"""GET by id and by name, resolve, the list, and what the panel says about itself."""

from collections.abc import Callable

from tests.simulators.facts.case import Act, Case, asking, words
from tests.simulators.facts.stage import Stage, fresh_name, response, told
from tests.simulators.stage import UNKNOWN

MISSING = "User with specified params not found"


def read_as(write: Callable[[int], str]) -> Act:
    """Ask for a user by his id in another form; see whether it is he."""

    def act(stage: Stage) -> object:
        user = stage.born()
        found = response(stage.client.get(f"/api/users/{write(user['id'])}"))
        return bool(found["id"] == user["id"])

    return act


def refused_id(text: str) -> Act:
    """Ask for that id; see the answer without the name that it gives the parameter."""
    return lambda stage: told(stage.client.get(f"/api/users/{text}"))[:2]


def the_body_of_a_fraction(stage: Stage) -> object:
    return stage.client.get("/api/users/1.5").json()


def by_id_of_nobody(stage: Stage) -> object:
    return told(stage.client.get(f"/api/users/{stage.gone()['id']}"))


def by_name_in_other_letters(stage: Stage) -> object:
    return told(stage.client.get("/api/users/by-username/%D0%96%20%2B%3F"))


def resolving(name: str) -> Act:
    """Resolve a user by that name of his; see whether all three names are his."""

    def act(stage: Stage) -> object:
        user = stage.born()
        body = {name: user[name]}
        found = response(stage.client.post("/api/users/resolve", json=body))
        return found == {key: user[key] for key in ("id", "username", "shortUuid")}

    return act


def the_codes_of_a_refused_resolve(**body: object) -> Act:
    def act(stage: Stage) -> object:
        answer = stage.client.post("/api/users/resolve", json=body)
        return [issue["code"] for issue in answer.json()["errors"]]

    return act


def the_list(stage: Stage, query: str = "") -> list[object]:
    """Return the ids of a page."""
    page = response(stage.client.get(f"/api/users?{query}"))
    return [user["id"] for user in page["users"]]


def the_keys_of_the_list(stage: Stage) -> object:
    return set(response(stage.client.get("/api/users?size=1")))


def the_newest(stage: Stage) -> object:
    ids = [stage.born()["id"] for _ in range(3)]
    return the_list(stage, "size=3") == ids[::-1]


def a_page_from_an_offset(stage: Stage) -> object:
    ids = [stage.born()["id"] for _ in range(4)]
    return the_list(stage, "start=1&size=2") == [ids[2], ids[1]]


def a_page_after_an_insert(stage: Stage) -> object:
    stage.born()
    first = the_list(stage, "start=0&size=1")
    stage.born()
    return the_list(stage, "start=1&size=1") == first


def the_probe(stage: Stage) -> object:
    with_token = stage.client.get("/api/users?size=1")
    without = stage.bare("GET", "/api/users?size=1")
    return told(with_token), told(without)


def the_keys_of_metadata(stage: Stage) -> object:
    found = response(stage.client.get("/api/system/metadata"))
    return set(found), set(found["build"]), type(found["git"]).__name__


def the_version(stage: Stage) -> object:
    return response(stage.client.get("/api/system/metadata"))["version"].split(".")[0]


def the_kind_of_nodes(stage: Stage) -> object:
    return type(response(stage.client.get("/api/nodes"))).__name__


IDS = (
    *(
        Case(f"id.{name}", refused_id(text), (400, "invalid"))
        for name, text in {
            "word": "abc",
            "0": "0",
            "negative": "-1",
            "uuid": UNKNOWN,
            "infinity": "Infinity",
        }.items()
    ),
    Case(
        "id.fraction",
        the_body_of_a_fraction,
        {"statusCode": 500, "message": "Internal server error"},
    ),
    Case("id.fraction-status", asking("GET", "/api/users/1.5"), (500, "bare")),
    Case("id.too-big", asking("GET", "/api/users/9223372036854775808"), (500, "A026")),
    Case("id.exponent", read_as(lambda user_id: f"{user_id}e0"), answer=True),
    Case("id.hexadecimal", read_as(hex), answer=True),
)
NAMES = (
    Case("missing.by-id", by_id_of_nobody, (404, "A063")),
    Case(
        "missing.by-username",
        asking("GET", f"/api/users/by-username/{fresh_name()}"),
        (404, "A063"),
    ),
    Case(
        "missing.read-words",
        words(lambda stage: stage.client.get(f"/api/users/{stage.gone()['id']}")),
        MISSING,
    ),
    Case("by-username.any-text", by_name_in_other_letters, (404, "A063")),
    Case("by-username.empty", refused_id("by-username/"), (400, "invalid")),
)
RESOLVE = (
    *(
        Case(f"resolve.{name}", resolving(name), answer=True)
        for name in ("id", "username")
    ),
    Case("resolve.shortUuid", resolving("shortUuid"), answer=True),
    Case(
        "resolve.missing",
        asking("POST", "/api/users/resolve", {"username": fresh_name()}),
        (404, "A025"),
    ),
    Case("resolve.none", the_codes_of_a_refused_resolve(), ["custom"]),
    Case(
        "resolve.two",
        the_codes_of_a_refused_resolve(id=1, username="someone"),
        ["custom"],
    ),
)
LIST = (
    Case("list.keys", the_keys_of_the_list, {"users", "total"}),
    Case("list.newest-first", the_newest, answer=True),
    Case("list.offset", a_page_from_an_offset, answer=True),
    Case("list.shifts", a_page_after_an_insert, answer=True),
    Case("list.size-1", asking("GET", "/api/users?size=1"), (200,)),
    Case("list.size-1000", asking("GET", "/api/users?size=1000"), (200,)),
    Case("list.size-0", asking("GET", "/api/users?size=0"), (400, "invalid", "size")),
    Case(
        "list.size-1001",
        asking("GET", "/api/users?size=1001"),
        (400, "invalid", "size"),
    ),
    Case("list.start-negative", asking("GET", "/api/users?start=-1"), (500, "A024")),
    Case("list.probe", the_probe, ((200,), (401, "bare"))),
)
PANEL = (
    Case("nodes.array", the_kind_of_nodes, "list"),
    Case(
        "metadata.members",
        the_keys_of_metadata,
        ({"version", "build", "git"}, {"time", "number"}, "dict"),
    ),
    Case("metadata.version", the_version, "3"),
)
CASES = (*IDS, *NAMES, *RESOLVE, *LIST, *PANEL)
