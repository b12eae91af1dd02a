"""Internal squads of users: which lists are taken, and what an unknown one does."""

from collections.abc import Callable

import httpx

from tests.simulators.facts.case import Act, Case, creating, patching, words
from tests.simulators.facts.stage import Stage, User, fresh_name, response, told
from tests.simulators.stage import UNKNOWN

INVALID = (400, "invalid", "activeInternalSquads")
FAILED_CREATE, FAILED_PATCH = (500, "A018"), (500, "A039")
NO_VERSION = "11111111-1111-0111-8111-111111111111"
NO_VARIANT = "11111111-1111-4111-1111-111111111111"


def held(user: User) -> list[str]:
    return [squad["uuid"] for squad in user["activeInternalSquads"]]


def with_squads(choose: Callable[[str, str], list[str]]) -> Act:
    """Create a user with squads chosen of two; see how it is answered."""
    return lambda stage: told(stage.create(activeInternalSquads=choose(*stage.squads)))


def in_upper_case(stage: Stage) -> object:
    one, _ = stage.squads
    return held(stage.born(activeInternalSquads=[one.upper()])) == [one]


def a_repeated_squad_patched(stage: Stage) -> object:
    one, _ = stage.squads
    return told(stage.patch(stage.born(), activeInternalSquads=[one, one]))


def a_user_with_an_unknown_squad(stage: Stage) -> httpx.Response:
    return stage.create(activeInternalSquads=[UNKNOWN])


def whom_a_failed_create_leaves(stage: Stage) -> object:
    name = fresh_name()
    stage.create(username=name, activeInternalSquads=[UNKNOWN])
    return told(stage.client.get(f"/api/users/by-username/{name}"))


def what_a_failed_patch_leaves(stage: Stage) -> object:
    user = stage.born()
    stage.patch(user, tag="NEW", activeInternalSquads=[UNKNOWN])
    return stage.get(user) == user


def what_the_list_says_of_it(stage: Stage) -> object:
    found = response(stage.client.get("/api/internal-squads"))["internalSquads"]
    return UNKNOWN in {squad["uuid"] for squad in found}


def cleared(stage: Stage) -> object:
    user = stage.born(activeInternalSquads=list(stage.squads), status="DISABLED")
    after = response(stage.patch(user, activeInternalSquads=[]))
    return held(after), after["status"]


def replaced(stage: Stage) -> object:
    one, other = stage.squads
    user = stage.born(activeInternalSquads=[one])
    return held(response(stage.patch(user, activeInternalSquads=[other]))) == [other]


def one_repeated_against_two(stage: Stage) -> object:
    one, other = stage.squads
    user = stage.born(activeInternalSquads=[one, other])
    answer = stage.patch(user, activeInternalSquads=[one, one])
    return answer.status_code, set(held(stage.get(user))) == {one, other}


def the_members_of_the_list(stage: Stage) -> object:
    return set(response(stage.client.get("/api/internal-squads")))


def the_members_of_a_squad(stage: Stage) -> object:
    first, *_ = response(stage.client.get("/api/internal-squads"))["internalSquads"]
    return set(first), set(first["info"]), type(first["inbounds"]).__name__


CASES = (
    Case("squads.none", creating(activeInternalSquads=[]), (201,)),
    Case("squads.null", creating(activeInternalSquads=None), INVALID),
    Case("squads.no-uuid", creating(activeInternalSquads=["x"]), INVALID),
    Case("squads.version", creating(activeInternalSquads=[NO_VERSION]), INVALID),
    Case("squads.variant", creating(activeInternalSquads=[NO_VARIANT]), INVALID),
    Case("squads.upper-case", in_upper_case, answer=True),
    Case("squads.twice", with_squads(lambda one, _: [one, one]), FAILED_CREATE),
    Case("squads.twice-patched", a_repeated_squad_patched, (200,)),
    Case("squads.external", creating(externalSquadUuid=UNKNOWN), FAILED_CREATE),
    Case("squads.external-patched", patching(externalSquadUuid=UNKNOWN), FAILED_PATCH),
    Case(
        "unknown-squad.create",
        lambda stage: told(a_user_with_an_unknown_squad(stage)),
        FAILED_CREATE,
    ),
    Case(
        "unknown-squad.create-words",
        words(a_user_with_an_unknown_squad),
        "Failed to create user",
    ),
    Case("unknown-squad.no-user", whom_a_failed_create_leaves, (404, "A063")),
    Case("unknown-squad.patch", patching(activeInternalSquads=[UNKNOWN]), FAILED_PATCH),
    Case(
        "unknown-squad.patch-words",
        words(lambda stage: stage.patch(stage.born(), activeInternalSquads=[UNKNOWN])),
        "Update user error",
    ),
    Case("unknown-squad.rolled-back", what_a_failed_patch_leaves, answer=True),
    Case("unknown-squad.listed", what_the_list_says_of_it, answer=False),
    Case("squads.cleared", cleared, ([], "DISABLED")),
    Case("squads.replaced", replaced, answer=True),
    Case("squads.compared", one_repeated_against_two, (200, True)),
    Case(
        "internal-squads.members", the_members_of_the_list, {"total", "internalSquads"}
    ),
    Case(
        "internal-squads.each",
        the_members_of_a_squad,
        (
            {
                "uuid",
                "viewPosition",
                "name",
                "info",
                "inbounds",
                "createdAt",
                "updatedAt",
            },
            {"membersCount", "inboundsCount"},
            "list",
        ),
    ),
)
