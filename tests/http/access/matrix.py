"""Ask the application in this process, without a socket, as whoever a test says.

Guards, routes, use cases and the database are the real ones; who asks is said by the
test, so that thousands of questions take seconds.
"""

import asyncio
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import count
from typing import Any, Final, override
from uuid import UUID

import msgspec

from api.http.app import application, enveloped, every_operation
from api.http.contract.listing import Operation
from api.http.surface import CREDENTIALS, Surface
from application.access.port import Session
from application.access.principal import Principal
from application.operators.instruction import Instruction
from domain.access.audience import Audience
from domain.access.permissions import EVERY, Permission
from domain.access.rates import Allowance
from domain.access.roles import Role
from domain.event import Actor
from infrastructure.installation import Services

NOBODY: Final = "0197d3a0-0000-7000-8000-000000000000"
_WHO: Final = UUID("0197d3a0-0000-7000-8000-00000000000a")
CSRF: Final = "csrf"
LOCKED: Final = tuple(each for each in every_operation() if not each.declared.is_open)
"""What needs a credential."""
CLOSED: Final = tuple(each for each in LOCKED if not each.is_stream)
"""And ends by itself."""
_BRACES: Final = re.compile(r"\{([a-z_]+)\}")


class SomebodySaid:
    """Knows whoever the test says, by what they show; counts and records nothing."""

    def __init__(self) -> None:
        self.principals: dict[str, tuple[Surface, Principal]] = {}
        self.refused: list[str] = []
        self.partitions: list[str] = []

    def knows(self, surface: Surface, principal: Principal) -> str:
        """Return what that principal shows."""
        shown = f"{len(self.principals):064x}"
        self.principals[shown] = (surface, principal)
        return shown

    def token(self, text: str, audience: Audience, address: str) -> Principal | None:
        del address
        found = self.principals.get(text)
        if found is None or CREDENTIALS[found[0]] is not audience:
            return None
        return found[1]

    def session(self, cookie: str, *, is_use: bool = True) -> Session | None:
        del is_use
        found = self.principals.get(cookie)
        if found is None or found[0] is not Surface.PANEL:
            return None
        return Session(principal=found[1], csrf=CSRF, partition=cookie)

    def take(self, partition: str) -> Allowance:
        self.partitions.append(partition)
        return Allowance(left=())

    def refuse(
        self,
        principal: Principal,
        permission: Permission,
        asked: str,
        request_id: str | None,
    ) -> None:
        assert request_id
        self.refused.append(f"{principal.actor.id} {permission} {asked}")


@dataclass(frozen=True, slots=True)
class Told:
    """One answer."""

    status: int
    code: str
    body: bytes
    head: str
    """The headers, a line each."""

    def __str__(self) -> str:
        return f"{self.status} {self.body[:300].decode()}"

    @property
    def is_refused(self) -> bool:
        """Whether whoever asked may not, or is nobody."""
        return self.status in {401, 403}


class Asked:
    """The application of one installation."""

    def __init__(self, services: Services) -> None:
        self.known = SomebodySaid()
        self._keys = count(1)
        access = replace(
            services.access,
            authenticate=self.known,
            limiter=self.known,
            refuse=self.known.refuse,
        )
        self._app = enveloped(application(replace(services, access=access)))

    def ask(
        self,
        operation: Operation,
        shown: str,
        *,
        ids: Mapping[str, str] | None = None,
        body: object = None,
    ) -> "Question":
        """Return the question of whoever shows that."""
        found = ids or {}
        path = _BRACES.sub(lambda name: found.get(name[1], NOBODY), operation.path)
        headers = {"x-operator-reason": "the test asks"}
        if operation.surface is Surface.PANEL:
            headers |= {"cookie": f"__Host-session={shown}", "x-csrf-token": CSRF}
        else:
            headers["authorization"] = f"Bearer {shown}"
        headers["idempotency-key"] = f"key-{next(self._keys)}-of-the-test"
        # Of a thing with an id the version is said with it; `*` means any.
        named = [found[it] for it in _BRACES.findall(operation.path) if it in found]
        headers["if-match"] = f'"{named[0]}:1"' if "_" in "".join(named) else "*"
        sent = b"" if operation.body is None else msgspec.json.encode(body or {})
        if operation.body is not None:
            headers["content-type"] = "application/json"
        return Question(operation.declared.method, path, headers, sent)

    def answers(self, questions: Iterable["Question"]) -> list[Told]:
        """Return an answer for each question, in order."""

        async def every() -> list[Told]:
            return [await each.of(self._app) for each in questions]

        return asyncio.run(every())


@dataclass(frozen=True, slots=True)
class Question:
    """One request."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes
    query: str = ""
    address: str = "192.0.2.7"

    async def of(self, app: Any) -> Told:  # noqa: ANN401 - ASGI's
        """Return what the application answers."""
        sent: list[Any] = []
        waiting = [{"type": "http.request", "body": self.body, "more_body": False}]

        async def receive() -> Any:  # noqa: ANN401 - ASGI's
            return waiting.pop() if waiting else await asyncio.Future[Any]()

        async def send(message: Any) -> None:  # noqa: ANN401 - ASGI's
            sent.append(message)

        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": self.method,
            "scheme": "http",
            "path": self.path,
            "raw_path": self.path.encode(),
            "root_path": "",
            "query_string": self.query.encode(),
            "headers": [
                (b"host", b"here"),
                *((k.encode(), v.encode()) for k, v in self.headers.items()),
            ],
            "client": (self.address, 1),
            "server": ("here", 80),
            "extensions": {},
        }
        await app(scope, receive, send)
        body = b"".join(each.get("body", b"") for each in sent)
        status = sent[0]["status"]
        code = msgspec.json.decode(body)["code"] if status >= 400 else ""
        head = b"".join(b"%s: %s\n" % each for each in sent[0]["headers"])
        return Told(status, code, body, head.decode("latin-1"))


def program(
    surface: Surface, *scopes: Permission, tenant: str = "default"
) -> Principal:
    """Return a program whose token has these scopes."""
    is_shop = surface is Surface.SHOPS
    return Principal(
        tenant_id=tenant,
        actor=Actor("shop", "p") if is_shop else Actor("operator", "token:p"),
        permissions=frozenset(scopes),
        id=_WHO,
        partition="p",
    )


def person(
    role: Role, permissions: frozenset[Permission], tenant: str = "default"
) -> Principal:
    """Return somebody of that role."""
    return Principal(
        tenant_id=tenant,
        actor=Actor(type="operator", id="ann"),
        permissions=permissions,
        role=role,
        id=_WHO,
        partition="ann",
    )


class LetIn(Principal, frozen=True, kw_only=True):
    """Somebody whom every guard lets in, and who may do nothing."""

    @override
    def instruct(self, reason: str, request_id: str | None) -> Instruction:
        asked = super().instruct(reason, request_id)
        return msgspec.structs.replace(asked, permissions=frozenset())


def let_in(surface: Surface) -> Principal:
    """Return somebody for whom the guard of every route is taken away."""
    found = (
        person(Role.OWNER, EVERY)
        if surface is Surface.PANEL
        else program(surface, *EVERY)
    )
    return LetIn(**msgspec.structs.asdict(found))
