"""/api/hwid/devices: a user's devices, added, listed and removed."""

from tests.simulators.facts.case import Case
from tests.simulators.facts.stage import Stage, User, response, told

DEVICES = "/api/hwid/devices"
NOBODY = (404, "A025")


def add(stage: Stage, user: User, hwid: str = "d1") -> tuple[object, ...]:
    body = {"userId": user["id"], "hwid": hwid}
    return told(stage.client.post(DEVICES, json=body))


def remove(stage: Stage, user: User, hwid: str = "d1") -> tuple[object, ...]:
    body = {"userId": user["id"], "hwid": hwid}
    return told(stage.client.post(f"{DEVICES}/delete", json=body))


def remove_all(stage: Stage, user: User) -> tuple[object, ...]:
    body = {"userId": user["id"]}
    return told(stage.client.post(f"{DEVICES}/delete-all", json=body))


def listed(stage: Stage, user: User) -> tuple[int, list[str]]:
    found = response(stage.client.get(f"{DEVICES}/{user['id']}"))
    return found["total"], [device["hwid"] for device in found["devices"]]


def added_twice(stage: Stage) -> object:
    user = stage.born()
    add(stage, user)
    return add(stage, user)


def a_list(stage: Stage) -> object:
    user = stage.born()
    add(stage, user)
    return listed(stage, user)


def the_members_of_a_device(stage: Stage) -> object:
    user = stage.born()
    add(stage, user)
    found = response(stage.client.get(f"{DEVICES}/{user['id']}"))
    known = {"hwid", "platform", "osVersion", "deviceModel", "updatedAt"}
    return known <= set(found["devices"][0])


def the_answer_to_a_removal(stage: Stage) -> object:
    user = stage.born()
    add(stage, user)
    body = {"userId": user["id"], "hwid": "d1"}
    answer = stage.client.post(f"{DEVICES}/delete", json=body)
    return answer.status_code, answer.json()["response"]


def one_of_two_removed(stage: Stage) -> object:
    user = stage.born()
    add(stage, user, "d1")
    add(stage, user, "d2")
    remove(stage, user, "d1")
    return listed(stage, user)


def all_removed_twice(stage: Stage) -> object:
    user = stage.born()
    add(stage, user)
    return [remove_all(stage, user) for _ in range(2)], listed(stage, user)


CASES = (
    Case("devices.list", a_list, (1, ["d1"])),
    Case("devices.members", the_members_of_a_device, answer=True),
    Case("devices.delete", the_answer_to_a_removal, (200, {"total": 0, "devices": []})),
    Case("devices.delete-one", one_of_two_removed, (1, ["d2"])),
    Case(
        "devices.delete-unknown",
        lambda stage: remove(stage, stage.born()),
        (404, "A204"),
    ),
    Case("devices.delete-all", all_removed_twice, ([(200,), (200,)], (0, []))),
    Case("devices.added-twice", added_twice, (400, "A098")),
    Case(
        "devices.list-of-nobody",
        lambda stage: told(stage.client.get(f"{DEVICES}/{stage.gone()['id']}")),
        NOBODY,
    ),
    Case("devices.delete-of-nobody", lambda stage: remove(stage, stage.gone()), NOBODY),
    Case(
        "devices.delete-all-of-nobody",
        lambda stage: remove_all(stage, stage.gone()),
        NOBODY,
    ),
)
