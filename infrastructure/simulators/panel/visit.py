"""One request on its way through the panel, and the row it leaves in the book."""

import json
import time
from dataclasses import dataclass, field, replace
from typing import Any, Final, cast

from infrastructure.simulators.panel.store import BODY_CHARACTERS, Entry
from infrastructure.simulators.panel.users.bodies import INT8_MAX
from infrastructure.simulators.panel.users.directory import Result
from infrastructure.simulators.panel.users.user import User
from infrastructure.simulators.panel.users.values import UNDEFINED, read_json
from infrastructure.simulators.panel.wire import Delivery, Request

_BY_NAME: Final = "/api/users/by-username/"
_BY_ID: Final = "/api/users/"


@dataclass(slots=True)
class Visit:
    """One request, and what has become of it so far."""

    request: Request
    received_at: int
    body: object = field(init=False)
    """The parsed body, `UNDEFINED` when it is not declared to be JSON."""
    malformed: str | None = field(init=False, default=None)
    """Why the body could not be parsed."""
    fault: str | None = None
    seq: int | None = None
    """Number of its row, once it has one."""
    answered: bool = False
    """What its row says."""
    late: bool = False
    """Its answer waits for a hang or a hold, so its client may be gone by then."""
    began_ns: int = field(init=False, default_factory=time.monotonic_ns)

    def __post_init__(self) -> None:
        """Parse the body."""
        try:
            self.body = _parsed(self.request)
        except ValueError as error:
            self.body, self.malformed = UNDEFINED, str(error)

    def arrival(self) -> Entry:
        """Return its row as far as it is known before the panel looks at it."""
        request = self.request
        user_id, username = self._named()
        return Entry(
            received_at=self.received_at,
            request_id=request.headers.get("x-request-id"),
            method=request.method,
            path=request.target,
            body=request.body.decode(errors="replace")[:BODY_CHARACTERS],
            fault=self.fault,
            user_id=user_id,
            username=username,
            began_ns=self.began_ns,
        )

    def outcome(self, result: Result | None, delivery: Delivery) -> Entry:
        """Return its row when all is decided, the answer being about to leave."""
        entry = self.arrival()
        answer = delivery.answer
        user = result and (result.after or result.before)
        applied = result is not None and result.applied
        return replace(
            entry,
            user_id=user.id if user else entry.user_id,
            username=user.username if user else entry.username,
            status=int(answer.status) if answer else None,
            error_code=answer.error_code if answer else None,
            applied=applied,
            effect=_effect(result) if result and applied else None,
            answered=delivery.whole and not self.late,
            ended_ns=None if self.late else time.monotonic_ns(),
        )

    def _named(self) -> tuple[int | None, str | None]:
        """Return the id and the name that the request itself gives."""
        path = self.request.path.casefold()
        if path.startswith(_BY_NAME):
            return None, self.request.path[len(_BY_NAME) :].rstrip("/") or None
        first = path.removeprefix(_BY_ID).partition("/")[0]
        if path.startswith(_BY_ID) and first.isdecimal():
            return _small(int(first[:20])), None
        body = self.body
        if not isinstance(body, dict):
            return None, None
        members = cast("dict[str, Any]", body)
        name = members.get("username")
        known = (
            name.encode(errors="replace").decode() if isinstance(name, str) else None
        )
        return _small(members.get("id")), known


def _small(value: object) -> int | None:
    """Return the id, None when no column holds it."""
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if abs(value) <= INT8_MAX else None


def _parsed(request: Request) -> object:
    if not request.body:
        return {}
    declared = request.headers.get("content-type", "").partition(";")[0].strip()
    if declared.lower() != "application/json":
        return UNDEFINED
    document = read_json(request.body.decode(errors="replace"))
    if not isinstance(document, dict | list):
        msg = "Unexpected token, only an object or an array is accepted"
        raise ValueError(msg)  # noqa: TRY004 - to the panel this is a syntax error
    return cast("object", document)


def _effect(result: Result) -> str:
    return json.dumps({"before": _sold(result.before), "after": _sold(result.after)})


def _sold(user: User | None) -> dict[str, object] | None:
    return None if user is None else user.sold()
