"""A user's subscription: by his id, and how his link counts devices."""

from tests.simulators.facts.case import Act, Case, Need
from tests.simulators.facts.stage import Stage, User, response, told

FALLBACK = 1
"""Devices of a user without a number of his own, while they are counted."""


def found(stage: Stage) -> object:
    user = stage.born()
    return response(stage.client.get(f"/api/subscriptions/by-id/{user['id']}"))[
        "isFound"
    ]


def missing(stage: Stage) -> object:
    return told(stage.client.get(f"/api/subscriptions/by-id/{stage.gone()['id']}"))


def fetch(stage: Stage, user: User, hwid: str) -> tuple[int, bool]:
    """Fetch the link as that device; return the status, and whether it is refused."""
    answer = stage.client.get(f"/api/sub/{user['shortUuid']}", headers={"x-hwid": hwid})
    names = {"x-hwid-max-devices-reached", "x-hwid-limit"}
    return answer.status_code, names <= {*answer.headers}


def recorded(**members: object) -> Act:
    """Fetch a user's link as four devices; see how many devices he has."""

    def act(stage: Stage) -> object:
        stage.panel.limit_devices(FALLBACK)
        user = stage.born(**members)
        for number in range(4):
            fetch(stage, user, f"device-{number}")
        return response(stage.client.get(f"/api/hwid/devices/{user['id']}"))["total"]

    return act


def a_refusal(stage: Stage) -> object:
    stage.panel.limit_devices(FALLBACK)
    user = stage.born()
    return [fetch(stage, user, hwid) for hwid in ("known", "new", "known")]


def without_limiting(stage: Stage) -> object:
    user = stage.born(hwidDeviceLimit=1)
    return {fetch(stage, user, f"device-{number}") for number in range(4)}


CASES = (
    Case("subscriptions.found", found, answer=True),
    Case("subscriptions.missing", missing, (404, "A025")),
    Case("link.null", recorded(), FALLBACK, Need.CONTROLS),
    Case("link.0", recorded(hwidDeviceLimit=0), 4, Need.CONTROLS),
    Case("link.n", recorded(hwidDeviceLimit=2), 2, Need.CONTROLS),
    Case(
        "link.refusal",
        a_refusal,
        [(200, False), (200, True), (200, False)],
        Need.CONTROLS,
    ),
    Case("link.off", without_limiting, {(200, False)}, Need.CONTROLS),
)
