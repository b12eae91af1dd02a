"""HTTP as the panel speaks it: envelopes, paths, bodies, errors, headers."""

import socket
from collections.abc import Mapping
from urllib.parse import urlsplit

import httpx

from tests.simulators.facts.case import Act, Case, asking
from tests.simulators.facts.stage import Stage, User, response, told
from tests.simulators.stage import FUTURE, PAST

JSON = {"Content-Type": "application/json"}
BARE_KEYS = {"message", "error", "statusCode"}
KIB = 1024


def forwarded(**headers: str) -> Act:
    """Ask with these headers of a proxy alone; see the status, or how it ends."""
    given = {name.replace("_", "-"): value for name, value in headers.items()}

    def act(stage: Stage) -> object:
        try:
            answer = stage.bare(
                "GET",
                "/api/users?size=1",
                {**given, "Authorization": f"Bearer {stage.token}"},
            )
        except httpx.RemoteProtocolError as error:
            return str(error)
        return answer.status_code

    return act


CLOSED = "Server disconnected without sending a response."


def unforwarded_without_a_token(stage: Stage) -> object:
    try:
        return stage.bare("GET", "/api/users?size=1", {}).status_code
    except httpx.RemoteProtocolError as error:
        return str(error)


def how_a_refused_connection_ends(stage: Stage) -> object:
    where = urlsplit(stage.url)
    with socket.create_connection((where.hostname, where.port or 80), 10) as line:
        line.sendall(b"GET /api/users HTTP/1.1\r\nHost: panel\r\n\r\n")
        return line.recv(1)  # a reset would raise


def envelope(method: str) -> Act:
    """See the members of the document of such a success."""

    def act(stage: Stage) -> object:
        user = stage.born()
        match method:
            case "POST":
                answer = stage.create()
            case "PATCH":
                answer = stage.patch(user, tag="T")
            case "GET":
                answer = stage.client.get(f"/api/users/{user['id']}")
            case _:
                answer = stage.act(user, "disable")
        return answer.status_code, set(answer.json())

    return act


def a_removal(stage: Stage) -> object:
    answer = stage.client.delete(f"/api/users/{stage.born()['id']}")
    return answer.status_code, answer.content


def slash_after_create(stage: Stage) -> object:
    body = {"username": f"{stage.born()['username']}2", "expireAt": FUTURE}
    return told(stage.client.post("/api/users/", json=body))


def slash_after_patch(stage: Stage) -> object:
    body = {"id": stage.born()["id"], "tag": "T"}
    return told(stage.client.patch("/api/users/", json=body))


def slash_after_id(stage: Stage) -> object:
    return told(stage.client.get(f"/api/users/{stage.born()['id']}/"))


def slash_after_action(stage: Stage) -> object:
    path = f"/api/users/{stage.born()['id']}/actions/disable/"
    return told(stage.client.post(path))


def a_path_in_capitals(stage: Stage) -> object:
    return told(stage.client.get(f"/API/Users/{stage.born()['id']}"))


def the_body_of_an_unknown_method(stage: Stage) -> object:
    return stage.client.put("/api/users").json()


def sending(content: str | bytes, headers: Mapping[str, str] = JSON) -> Act:
    """POST these bytes as a new user; see how it is answered."""
    return lambda stage: told(
        stage.client.post("/api/users", content=content, headers=dict(headers))
    )


def the_members_of_malformed(stage: Stage) -> object:
    answer = stage.client.post("/api/users", content="{", headers=JSON)
    return set(answer.json()), answer.json()["error"]


def the_words_of_another_type(stage: Stage) -> object:
    answer = stage.client.post(
        "/api/users", content="{}", headers={"Content-Type": "text/plain"}
    )
    return [issue["message"] for issue in answer.json()["errors"]]


def a_domain_error(stage: Stage) -> dict[str, object]:
    path = f"/api/users/{stage.gone()['id']}?x=1"
    document: dict[str, object] = stage.client.get(path).json()
    return {**document, "asked": path}


def the_path_of_an_error(stage: Stage) -> object:
    document = a_domain_error(stage)
    return document["path"] == document["asked"]


def a_validation_error(stage: Stage) -> object:
    document = stage.create(username="ab", trafficLimitBytes=-1).json()
    issues = document["errors"]
    complete = all({"code", "path", "message"} <= set(issue) for issue in issues)
    paths = [issue["path"][0] for issue in issues]
    return document["statusCode"], set(document), complete, sorted(paths)


def invalid_and_nobody(stage: Stage) -> object:
    return told(stage.patch(stage.gone(), expireAt=PAST))


def header(name: str, **sent: str) -> Act:
    """Ask with these headers; see one header of the answer."""
    given = {name.replace("_", "-"): value for name, value in sent.items()}
    return lambda stage: stage.client.get(
        "/api/users?size=1", headers=given
    ).headers.get(name)


def the_promise_to_keep(stage: Stage) -> object:
    answer = stage.client.get("/api/users?size=1")
    return answer.headers.get("Keep-Alive")


def limits_told(stage: Stage) -> object:
    answer = stage.client.get("/api/users?size=1")
    names = {name.lower() for name in answer.headers}
    return [name for name in names if "ratelimit" in name or name == "retry-after"]


def two_hundred_at_once(stage: Stage) -> object:
    answers = [
        answer
        for _ in range(25)
        for answer in stage.at_once(8, "GET", "/api/users?size=1")
    ]
    return {answer.status_code for answer in answers}


def a_weak_tag(stage: Stage) -> object:
    return stage.client.get("/api/users?size=1").headers["ETag"][:3]


def the_same_tag_again(stage: Stage) -> object:
    path = f"/api/users/{stage.born()['id']}"
    tag = stage.client.get(path).headers["ETag"]
    again = stage.client.get(path, headers={"If-None-Match": tag})
    return again.status_code, again.content


def size_of(user: User) -> int:
    return len(httpx.Request("POST", "http://panel", json=user).content)


def the_size_of_a_user(stage: Stage) -> object:
    return 800 < size_of(stage.born()) < 1200


def a_long_description(stage: Stage) -> object:
    text = "x" * 20_000
    return stage.get(stage.born(description=text))["description"] == text


def a_page_of_long_ones(stage: Stage) -> object:
    for _ in range(55):
        stage.born(description="x" * 20_000)
    answer = stage.client.get("/api/users?size=1000")
    return len(answer.content) > KIB * KIB


def by_telegram(stage: Stage) -> object:
    answer = stage.client.get("/api/users/by-telegram-id/5")
    return answer.status_code, answer.json()["error"], set(answer.json())


def the_trailing_list(stage: Stage) -> object:
    return set(response(stage.client.get("/api/users/?size=1")))


BOTH = {"X_Forwarded_For": "10.0.0.1", "X_Forwarded_Proto": "https"}
FORWARDING = (
    Case("forwarded.both", forwarded(**BOTH), 200),
    Case("forwarded.neither", forwarded(), CLOSED),
    Case("forwarded.no-for", forwarded(X_Forwarded_Proto="https"), CLOSED),
    Case("forwarded.no-proto", forwarded(X_Forwarded_For="10.0.0.1"), CLOSED),
    Case("forwarded.empty-for", forwarded(**{**BOTH, "X_Forwarded_For": ""}), CLOSED),
    Case("forwarded.any-for", forwarded(**{**BOTH, "X_Forwarded_For": "me"}), 200),
    Case(
        "forwarded.capitals",
        forwarded(**{**BOTH, "X_Forwarded_Proto": "HTTPS"}),
        CLOSED,
    ),
    Case(
        "forwarded.list",
        forwarded(**{**BOTH, "X_Forwarded_Proto": "https,http"}),
        CLOSED,
    ),
    Case("forwarded.before-token", unforwarded_without_a_token, CLOSED),
    Case("forwarded.clean-close", how_a_refused_connection_ends, b""),
)
ENVELOPES = (
    Case("envelope.create", envelope("POST"), (201, {"response"})),
    Case("envelope.patch", envelope("PATCH"), (200, {"response"})),
    Case("envelope.get", envelope("GET"), (200, {"response"})),
    Case("envelope.action", envelope("action"), (200, {"response"})),
    Case("envelope.delete", a_removal, (204, b"")),
)
PATHS = (
    Case("slash.list", the_trailing_list, {"users", "total"}),
    Case("slash.create", slash_after_create, (201,)),
    Case("slash.patch", slash_after_patch, (200,)),
    Case("slash.by-id", slash_after_id, (200,)),
    Case("slash.action", slash_after_action, (200,)),
    Case("slash.double", asking("GET", "/api//users"), (404, "bare")),
    Case("path.capitals", a_path_in_capitals, (200,)),
    Case("route.unknown", asking("GET", "/api/nowhere"), (404, "bare")),
    Case(
        "route.method",
        the_body_of_an_unknown_method,
        {"message": "Cannot PUT /api/users", "error": "Not Found", "statusCode": 404},
    ),
    Case(
        "route.without-token",
        lambda stage: told(stage.bare("PUT", "/api/users")),
        (404, "bare"),
    ),
    Case("route.by-telegram-id", by_telegram, (404, "Not Found", BARE_KEYS)),
)
BODIES = (
    Case("body.malformed", sending("{"), (400, "bare")),
    Case(
        "body.malformed-members", the_members_of_malformed, (BARE_KEYS, "Bad Request")
    ),
    Case(
        "body.another-type",
        sending("{}", {"Content-Type": "text/plain"}),
        (400, "invalid", ""),
    ),
    Case(
        "body.another-type-words",
        the_words_of_another_type,
        ["Invalid input: expected object, received undefined"],
    ),
    Case("body.empty", sending(""), (400, "invalid", "username", "expireAt")),
)
ERRORS = (
    Case(
        "error.domain",
        lambda stage: set(a_domain_error(stage)) - {"asked"},
        {"timestamp", "path", "message", "errorCode"},
    ),
    Case("error.path", the_path_of_an_error, answer=True),
    Case(
        "error.validation",
        a_validation_error,
        (
            400,
            {"statusCode", "message", "errors"},
            True,
            ["trafficLimitBytes", "username"],
        ),
    ),
    Case("error.validation-first", invalid_and_nobody, (400, "invalid", "expireAt")),
)
HEADERS = (
    Case("keep-alive.promise", the_promise_to_keep, "timeout=5"),
    Case(
        "compression.none", header("content-encoding", Accept_Encoding="gzip, br"), None
    ),
    Case("rate-limit.headers", limits_told, []),
    Case("rate-limit.none", two_hundred_at_once, {200}),
    Case("etag.weak", a_weak_tag, 'W/"'),
    Case("etag.304", the_same_tag_again, (304, b"")),
)
SIZES = (
    Case("size.user", the_size_of_a_user, answer=True),
    Case("size.description", a_long_description, answer=True),
    Case("size.page", a_page_of_long_ones, answer=True),
)
CASES = (*FORWARDING, *ENVELOPES, *PATHS, *BODIES, *ERRORS, *HEADERS, *SIZES)
