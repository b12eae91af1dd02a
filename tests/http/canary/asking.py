"""Every request that there is, made of what is declared: new routes join by themselves.

settled        orders
put_in_requests   every change, with secrets wherever something can be said
reads          every look, as everybody
followed       every stream
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, Final, NamedTuple
from urllib.parse import quote

import httpx

from api.http.app import described, every_operation
from api.http.contract.listing import Operation
from api.http.surface import Surface
from domain.access.permissions import EVERY
from domain.access.roles import GRANTS, Role
from tests.fixtures.http import Api
from tests.http.access.matrix import NOBODY, Asked, Question, person, program
from tests.http.canary.plants import planted
from tests.http.canary.stage import settlement

CONTRACT: Final = described()
CHANGES: Final = tuple(each for each in every_operation() if each.declared.is_change)
READS: Final = tuple(each for each in every_operation() if not each.declared.is_change)
type Ids = Mapping[str, Sequence[str]]

FILTERS: Final = {"f", "state", "status", "operation", "entitlementId"}
"""Parameters that become terms of a filter."""

NOISE: Final = {
    "User-Agent": planted("user agent"),
    "X-Request-ID": planted("request id"),
    "Cookie": f"s={planted('cookie').replace(' ', '_')}",
    "Referer": planted("referer"),
    "X-Forwarded-For": planted("forwarded"),
    "Traceparent": planted("traceparent"),
    "Accept-Language": planted("language"),
    "Prefer": planted("preference"),
}
"""Headers that anybody may send, and nobody should."""


type Said = tuple[str, str]
"""Where something was said, and what."""


def told(about: str, answer: httpx.Response) -> Said:
    """Return everything that was answered, headers too."""
    head = "\n".join(f"{name}: {each}" for name, each in answer.headers.items())
    return f"ECHO {about}: {answer.status_code}", f"{head}\n\n{answer.text}"


def example(operation: Operation) -> Any:  # noqa: ANN401 - JSON
    """Return the body that the contract shows; None: it takes none."""
    shown = CONTRACT["paths"][operation.path][operation.declared.method.lower()]
    content = shown.get("requestBody", {}).get("content", {})
    return content.get("application/json", {}).get("example")


def bodies(operation: Operation) -> Iterator[bytes]:
    """Yield bodies that hold secrets: as values, as names, and where none may be."""
    shown = example(operation)
    if operation.declared.media:
        yield planted("file").encode()
        return
    if shown is None:
        yield b""
        return
    value = planted("value")
    yield json.dumps(_replaced(shown, value)).encode()
    yield json.dumps(_replaced(shown, [value])).encode()
    yield json.dumps({**shown, planted("name asked for"): value}).encode()
    for name in shown:
        yield json.dumps({**shown, name: value}).encode()
    yield json.dumps([value]).encode()
    yield f'{{"{value}": {value}'.encode()
    yield json.dumps(f"{value}\0").encode()


def _replaced(shown: Any, value: object) -> Any:  # noqa: ANN401 - JSON
    """Return the example with a secret for each text."""
    if isinstance(shown, dict):
        return {name: _replaced(each, value) for name, each in shown.items()}
    if isinstance(shown, list):
        return [_replaced(each, value) for each in shown]
    return value if isinstance(shown, str) else shown


def addresses(operation: Operation, ids: Ids) -> Iterator[str]:
    """Yield the addresses of an operation: of something, and of nothing."""
    names = [it.name for it in operation.parameters() if it.where == "path"]
    path = operation.path
    for name in names:
        path = path.replace(f"{{{name}}}", quote(next(iter(ids.get(name, [NOBODY])))))
    yield path
    asked = operation.path
    for name in names:
        asked = asked.replace(f"{{{name}}}", quote(planted("id asked for"), safe=""))
    if names:
        yield asked
    yield f"{path}?{quote(planted('name asked for'))}={quote(planted('value'))}"


def queries(operation: Operation) -> Iterator[str]:
    """Yield queries with a secret for each parameter."""
    for each in operation.parameters():
        if each.where == "query" and each.name != "unmask":
            place = "filter" if each.name in FILTERS else "value"
            yield f"{each.name}={quote(planted(place))}"
            if each.name == "f":
                for term in ("kind:{}", "{}:x", "state:{}", '"{}'):
                    yield f"f={quote(term.format(planted('filter')))}"


def put_in_requests(api: Api, ids: Ids) -> Iterator[Said]:
    """Ask for every change, with secrets wherever something can be said."""
    hooks = httpx.Client(base_url=api.address + Surface.HOOKS)
    clients: dict[Surface, httpx.Client] = {
        Surface.SHOPS: api.client(Surface.SHOPS),
        Surface.ADMIN: api.client(Surface.ADMIN),
        Surface.PANEL: api.client(Surface.PANEL),
        Surface.HOOKS: api.stack.enter_context(hooks),
    }
    n, known = 0, set[str]()
    for operation in CHANGES:
        if operation.handler.fn.__name__ == "sign_out":
            continue  # whoever has signed out asks for nothing else
        client = clients[operation.surface]
        media = "application/json" if not operation.declared.media else "text/plain"
        # What answers on two surfaces is asked for everything on one of them.
        is_known = operation.handler.fn.__name__ in known
        known.add(operation.handler.fn.__name__)
        for at, path in enumerate(addresses(operation, ids)):
            is_whole = at == 0 and not is_known
            for body in islice(bodies(operation), None if is_whole else 1):
                n += 1
                headers = NOISE | {
                    "X-Operator-Reason": quote(planted("reason")),
                    "Idempotency-Key": f"{n}-{'k' * 8}",
                    "If-Match": "*",
                    "Content-Type": media,
                }
                if operation.surface is Surface.PANEL:
                    headers["Cookie"] = client.headers["Cookie"]
                yield _sent(client, operation, path, body, headers)
    yield from _put_in_headers(clients, ids)


def _put_in_headers(
    clients: Mapping[Surface, httpx.Client], ids: Ids
) -> Iterator[Said]:
    """Ask for some changes, with secrets in the headers that mean something."""
    for operation in CHANGES[:: len(CHANGES) // 12]:
        client = clients[operation.surface]
        path = next(addresses(operation, ids))
        body = next(bodies(operation))
        for name in (
            "X-Operator-Reason",
            "Idempotency-Key",
            "If-Match",
            "Content-Type",
            "Accept",
            "Origin",
            "X-CSRF-Token",
            "Authorization",
        ):
            said = quote(planted("reason")) if "Reason" in name else planted("header")
            headers = {"Idempotency-Key": "k" * 8, name: said}
            yield _sent(client, operation, path, body, headers)


def _sent(
    client: httpx.Client,
    operation: Operation,
    path: str,
    body: bytes,
    headers: Mapping[str, str],
) -> Said:
    method = operation.declared.method
    asked = client.build_request(method, "", content=body, headers=headers)
    asked.url = asked.url.copy_with(raw_path=path.encode())
    return told(f"{method} {operation.path}", client.send(asked))


def settled(api: Api, n: int) -> Iterator[Said]:
    """Settle orders."""
    shop = api.client(Surface.SHOPS)
    for number in range(n):
        headers = {"Idempotency-Key": f"settle-{number}"}
        order = settlement(number)
        answer = shop.post("/orders/settle", json=order, headers=headers)
        assert answer.status_code == 202, answer.text
        yield told("POST /v1/orders/settle", answer)


EVERYTHING: Final = {
    "list_jobs": "f=&limit=200&count=capped",
    "list_changes": "after=0",
}
"""Queries by which lists show all that there is."""


def reads(asked: Asked, ids: Ids) -> Iterator[Said]:
    """Ask for everything that can be read, as everybody."""
    questions: list[tuple[str, Question]] = []
    everybody = readers(asked)
    for operation in READS:
        if not operation.is_stream:
            for n, who in enumerate(everybody[operation.surface]):
                questions += _questions(asked, operation, who, ids, is_first=n == 0)
    answers = asked.answers(question for _, question in questions)
    for (where, _), answer in zip(questions, answers, strict=True):
        yield f"{where}: {answer.status}", answer.head + answer.body.decode()


def _questions(
    asked: Asked, operation: Operation, who: "Reader", ids: Ids, *, is_first: bool
) -> Iterator[tuple[str, Question]]:
    """Yield what somebody asks for; the first one asks for everything that there is."""
    about = f"GET {operation.path}"
    names = [it.name for it in operation.parameters() if it.where == "path"]
    if names:
        every = ids[names[0]]
        for id_ in every if is_first else every[:2]:
            question = asked.ask(operation, who.shown, ids={names[0]: id_})
            yield f"{about} as {who.name}", question
        return
    question = asked.ask(operation, who.shown)
    everything = EVERYTHING.get(operation.handler.fn.__name__, "")
    for query in {"", everything}:
        yield f"{about} as {who.name}", replace(question, query=query)
    for query in queries(operation) if is_first else ():
        yield f"ECHO {about}", replace(question, query=query)


class Reader(NamedTuple):
    """Somebody who looks."""

    name: str
    shown: str
    """What they show of themselves."""


def readers(asked: Asked) -> dict[Surface, list[Reader]]:
    """Return everybody, on each surface whoever may most first.

    Also who may see payloads: nobody is shown one who does not ask for it.
    """
    panel, knows = Surface.PANEL, asked.known.knows
    return {
        Surface.HOOKS: [],
        Surface.SHOPS: [
            Reader("token", knows(Surface.SHOPS, program(Surface.SHOPS, *EVERY)))
        ],
        Surface.ADMIN: [
            Reader("token", knows(Surface.ADMIN, program(Surface.ADMIN, *EVERY)))
        ],
        panel: [
            Reader(role, knows(panel, person(role, GRANTS[role]))) for role in Role
        ],
    }


def followed(client: httpx.Client) -> str:
    """Return what a stream tells of all that has happened."""
    said: list[str] = []
    with client.stream("GET", "/stream?after=0") as answer:
        said += [f"{name}: {each}" for name, each in answer.headers.items()]
        for n, line in enumerate(answer.iter_lines()):
            said.append(line)
            if n == FRAMES:
                break
    return "\n".join(said)


FRAMES: Final = 40
"""Lines of a stream that are looked at."""
