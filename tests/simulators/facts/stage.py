"""The panel that the facts are asked of, a simulated or a real one, and its users."""

import secrets
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from types import TracebackType
from typing import Any, Self

import httpx

from infrastructure.simulators.panel.simulator import PanelSimulator
from tests.simulators.stage import FORWARDED, FUTURE, PAST, SetClock

TRUSTED = httpx.create_ssl_context()
"""Made once: it is what takes longest about a client."""
ABSENT = object()
"""Value of a member that is left out of a body."""

type User = dict[str, Any]


@dataclass(frozen=True)
class Controls:
    """What only a simulated panel has: its switches, and a clock that is moved."""

    panel: PanelSimulator
    clock: SetClock


@dataclass(frozen=True)
class Place:
    """Where a panel is, and what opens it."""

    url: str
    token: str
    controls: Controls | None = None


class Stage:
    """One case's dealings with a panel; the users that it made are deleted after it."""

    def __init__(self, place: Place) -> None:
        self.url, self.token = place.url, place.token
        self._controls = place.controls
        self._born: list[int] = []
        headers = {**FORWARDED, "Authorization": f"Bearer {place.token}"}
        self.client = self._connected(place.url, headers)
        self._stranger = self._connected(place.url, {})

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with closing(self.client), closing(self._stranger):
            if self._controls is None:  # a simulated one with controls goes as a whole
                for user_id in self._born:
                    self.client.delete(f"/api/users/{user_id}")

    def _connected(self, url: str, headers: Mapping[str, str]) -> httpx.Client:
        return httpx.Client(
            base_url=url,
            headers=dict(headers),
            timeout=30,
            trust_env=False,
            verify=TRUSTED,
            event_hooks={"response": [self._note_birth]},
        )

    def _note_birth(self, answer: httpx.Response) -> None:
        if answer.status_code == httpx.codes.CREATED:
            answer.read()
            self._born.append(answer.json()["response"]["id"])

    @property
    def panel(self) -> PanelSimulator:
        """The simulator's switches; only for cases that say they need them."""
        assert self._controls is not None
        return self._controls.panel

    @property
    def clock(self) -> SetClock:
        """The simulator's clock; only for cases that say they need it."""
        assert self._controls is not None
        return self._controls.clock

    @cached_property
    def squads(self) -> tuple[str, str]:
        """Two internal squads of the panel."""
        known = response(self.client.get("/api/internal-squads"))["internalSquads"]
        assert len(known) >= 2, "the panel needs two internal squads"
        return known[0]["uuid"], known[1]["uuid"]

    def create(self, **members: object) -> httpx.Response:
        """Ask for a user who has a name of his own, unless `members` say otherwise."""
        body = {"username": fresh_name(), "expireAt": FUTURE, **members}
        told = {name: value for name, value in body.items() if value is not ABSENT}
        return self.client.post("/api/users", json=told)

    def born(self, **members: object) -> User:
        user: User = response(self.create(**members))
        return user

    def in_status(self, status: str) -> User:
        """A user of 1000 bytes who is and, left alone, stays in this status."""
        expire_at = PAST if status == "EXPIRED" else FUTURE
        return self.born(status=status, expireAt=expire_at, trafficLimitBytes=1000)

    def get(self, user: User) -> User:
        found: User = response(self.client.get(f"/api/users/{user['id']}"))
        return found

    def patch(self, user: User, **members: object) -> httpx.Response:
        return self.client.patch("/api/users", json={"id": user["id"], **members})

    def act(self, user: User, action: str, body: object = None) -> httpx.Response:
        path = f"/api/users/{user['id']}/actions/{action}"
        return self.client.post(path, json=body)

    def gone(self) -> User:
        """A user who was there, and is no more."""
        user = self.born()
        self.client.delete(f"/api/users/{user['id']}")
        return user

    def now_ms(self) -> int:
        """The panel's clock."""
        return as_ms(self.born()["createdAt"])

    def tick(self, user: User) -> None:
        """Return once the panel's clock is past the last change of that user."""
        if self._controls is not None:
            self._controls.clock.now += 1
        while self.now_ms() <= as_ms(user["updatedAt"]):
            pass

    def bare(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str] = FORWARDED,
        body: object = None,
    ) -> httpx.Response:
        """Ask without the token, with these headers."""
        return self._stranger.request(method, path, headers=dict(headers), json=body)

    def with_token(
        self, token: str, method: str, path: str, body: object = None
    ) -> httpx.Response:
        headers = {**FORWARDED, "Authorization": f"Bearer {token}"}
        return self.bare(method, path, headers, body)

    def at_once(
        self, times: int, method: str, path: str, body: object = None
    ) -> list[httpx.Response]:
        """Return the answers to so many equal requests that start together."""
        barrier = threading.Barrier(times)

        def ask(_: int) -> httpx.Response:
            barrier.wait(30)
            return self.client.request(method, path, json=body)

        with ThreadPoolExecutor(times) as threads:
            return list(threads.map(ask, range(times)))


def fresh_name() -> str:
    return f"fact_{secrets.token_hex(8)}"


def as_ms(shown: str) -> int:
    """Return the instant that the panel shows, in ms since 1970."""
    return round(datetime.fromisoformat(shown).timestamp() * 1000)


def response(answer: httpx.Response) -> Any:  # noqa: ANN401 - any JSON
    assert answer.is_success, answer.text
    return answer.json()["response"]


def told(answer: httpx.Response) -> tuple[object, ...]:
    """Return the status, and how it was refused.

    (400, "invalid", <members>…) by validation; (404, "A025") with an errorCode;
    (404, "bare") by the framework; (201,) not at all.
    """
    if answer.is_success:
        return (answer.status_code,)
    document = answer.json()
    if "errorCode" in document:
        return answer.status_code, document["errorCode"]
    if document["message"] != "Validation failed":
        return answer.status_code, "bare"
    paths = [issue["path"] for issue in document["errors"]]
    members = dict.fromkeys(path[0] if path else "" for path in paths)
    return answer.status_code, "invalid", *members
