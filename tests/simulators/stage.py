"""The stage of the simulator's tests: its constants, clock and shorthands."""

from dataclasses import dataclass
from typing import Any

import httpx

from infrastructure.simulators.panel.simulator import PanelSimulator

TOKEN = "panel-token"  # noqa: S105 - opens nothing
FORWARDED = {"X-Forwarded-For": "10.0.0.1", "X-Forwarded-Proto": "https"}
HEADERS = {"Authorization": f"Bearer {TOKEN}", **FORWARDED}
ALPHA = "11111111-1111-4111-8111-111111111111"
BETA = "22222222-2222-4222-8222-222222222222"
UNKNOWN = "33333333-3333-4333-8333-333333333333"
SQUADS = ((ALPHA, "Alpha"), (BETA, "Beta"))
NOON = 1_800_000_000_000 - 1_800_000_000_000 % 60_000 + 10_000
"""2027-01-15T08:00:10Z: second 10, between two passes."""
FUTURE = "2030-01-01T00:00:00.000Z"
PAST = "2020-01-01T00:00:00.000Z"


@dataclass
class SetClock:
    now: int = NOON

    def __call__(self) -> int:
        return self.now


@dataclass
class Users:
    """Shorthands for bringing the panel into a state."""

    client: httpx.Client
    panel: PanelSimulator
    clock: SetClock

    def born(self, username: str = "bob", /, **members: object) -> dict[str, Any]:
        body = {"username": username, "expireAt": FUTURE, **members}
        return response(self.client.post("/api/users", json=body))

    def in_state(self, status: str) -> dict[str, Any]:
        """A user of 1000 bytes who came to this status as on the real panel."""
        match status:
            case "EXPIRED":
                user = self.born(expireAt=PAST, trafficLimitBytes=1000)
                self.clock.now += 30_000
            case "LIMITED":
                user = self.born(trafficLimitBytes=1000)
                self.panel.use_traffic(user["id"], 5000)
                self.clock.now += 60_000
            case _:
                user = self.born(status=status, trafficLimitBytes=1000)
        user = self.get(user["id"])
        assert user["status"] == status
        return user

    def get(self, user_id: int) -> dict[str, Any]:
        return response(self.client.get(f"/api/users/{user_id}"))

    def patch(self, **members: object) -> httpx.Response:
        return self.client.patch("/api/users", json=members)

    def act(self, user_id: int, action: str) -> httpx.Response:
        return self.client.post(f"/api/users/{user_id}/actions/{action}")


def response(answer: httpx.Response) -> dict[str, Any]:
    """Return what is in the envelope of a success."""
    assert answer.is_success, answer.text
    document: dict[str, Any] = answer.json()["response"]
    return document


def failure(answer: httpx.Response) -> tuple[int, str | None]:
    """Return status and errorCode."""
    return answer.status_code, answer.json().get("errorCode")
