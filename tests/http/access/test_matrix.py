"""Every route × every role and scope × own and other tenant, made of what is declared.

Nobody has to come here for a new route: it is found, and asked for as everybody.  What
a test says when it fails is what the route has forgotten.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import pytest

from api.http.app import described
from api.http.contract.listing import Operation
from api.http.surface import Surface
from domain.access.permissions import EVERY, Permission
from domain.access.roles import GRANTS, Role
from tests.fixtures.http import Api
from tests.http.access.matrix import (
    CLOSED,
    LOCKED,
    Asked,
    Told,
    let_in,
    person,
    program,
)
from tests.http.world import World, lived_in

ANYBODYS: Final = {
    "list_changes",  # what changed, of what they may read
    "read_contract",
    "read_me",
    "sign_out",
}
"""What whoever has a credential of the surface may, by the names of the functions."""

INSIDE: Final = {
    Permission.DELIVERIES_OVERRIDE,  # of a decision about a delivery
    Permission.EVENTS_UNMASK,  # of a look at an event
}
"""Permissions that no route asks for, but a use case does, of some requests."""

SHARED: Final = {
    "projection",  # a projection folds every tenant's events
    "queue",  # a queue serves every tenant
    "worker_id",  # and so does a worker
}
"""Parameters of paths that name what is no tenant's own."""

TOKENS: Final = (Surface.SHOPS, Surface.ADMIN)
SURFACES: Final = (*TOKENS, Surface.PANEL)
CONTRACT: Final = described()


def named(operation: Operation) -> str:
    return f"{operation.declared.method} {operation.path}"


def of(surface: Surface) -> list[Operation]:
    return [each for each in CLOSED if each.surface is surface]


def example(operation: Operation) -> Any:  # noqa: ANN401 - JSON
    """Return the body that the contract shows, if the operation takes one."""
    method = operation.declared.method.lower()
    told = CONTRACT["paths"][operation.path][method].get("requestBody")
    content = {} if told is None else told["content"]
    return content.get("application/json", {}).get("example")


def parameters(operation: Operation) -> set[str]:
    return {each.name for each in operation.parameters() if each.where == "path"}


@pytest.fixture
def asked(api: Api) -> Asked:
    return Asked(api.services)


def test_every_route_says_who_may() -> None:
    silent = {
        named(each)
        for each in CLOSED
        if each.declared.permission is None and each.handler.fn.__name__ not in ANYBODYS
    }

    assert not silent, (
        f"these routes declare no permission: {silent}; write `permission=` into "
        "`@route(…)`, or their functions' names into ANYBODYS, and why"
    )


def test_every_permission_is_asked_for_by_a_route() -> None:
    used = {each.declared.permission for each in CLOSED}

    unused = set(Permission) - used - INSIDE

    assert not unused, (
        f"no route asks for {sorted(unused)}: a permission that opens nothing is a "
        "promise to whoever is given it; declare it at its route, or remove it"
    )


@pytest.mark.database
@pytest.mark.parametrize("surface", TOKENS)
def test_a_token_of_one_scope_may_what_asks_for_that_alone(
    surface: Surface, asked: Asked
) -> None:
    shown = {
        scope: asked.known.knows(surface, program(surface, scope))
        for scope in Permission
    }
    cells = [(each, scope) for each in of(surface) for scope in Permission]

    answers = asked.answers(asked.ask(each, shown[scope]) for each, scope in cells)

    wrong = [
        f"{named(operation)} with {scope}: {answer}"
        for (operation, scope), answer in zip(cells, answers, strict=True)
        if answer.is_refused is (operation.declared.permission in {None, scope})
        or (answer.is_refused and answer.code != "insufficient_scope")
    ]
    assert not wrong, "\n".join(wrong[:20])


@pytest.mark.database
def test_a_person_may_what_their_role_is_granted_alone(asked: Asked) -> None:
    panel = Surface.PANEL
    shown = {
        role: asked.known.knows(panel, person(role, GRANTS[role])) for role in Role
    }
    cells = [(each, role) for each in of(panel) for role in Role]

    answers = asked.answers(asked.ask(each, shown[role]) for each, role in cells)

    wrong = [
        f"{named(operation)} as {role}: {answer}"
        for (operation, role), answer in zip(cells, answers, strict=True)
        if answer.is_refused is (operation.declared.permission in {None, *GRANTS[role]})
        or (answer.is_refused and answer.code != "forbidden")
    ]
    assert not wrong, "\n".join(wrong[:20])


@pytest.mark.database
def test_no_credential_of_one_surface_opens_another(asked: Asked) -> None:
    shown = {
        surface: asked.known.knows(surface, who(surface, "default"))
        for surface in SURFACES
    }
    cells = [
        (each, other) for each in LOCKED for other in SURFACES if other != each.surface
    ]

    answers = asked.answers(asked.ask(each, shown[other]) for each, other in cells)

    wrong = [
        f"{named(operation)} with a credential of {other}: {answer}"
        for (operation, other), answer in zip(cells, answers, strict=True)
        if answer.code != "unauthorized"
    ]
    assert not wrong, "\n".join(wrong[:20])


def who(surface: Surface, tenant: str) -> Any:  # noqa: ANN401 - a principal
    """Return whoever may do everything there."""
    if surface is Surface.PANEL:
        return person(Role.OWNER, EVERY, tenant)
    return program(surface, *EVERY, tenant=tenant)


def of_tenants() -> Iterator[Operation]:
    """Yield what is asked of one thing that is a tenant's own."""
    for each in CLOSED:
        if parameters(each) - SHARED:
            yield each


@pytest.mark.database
def test_what_is_another_tenants_does_not_exist(api: Api, asked: Asked) -> None:
    cells = list(of_tenants())
    with lived_in(api) as world:
        ids = first_of_each(world)
        unknown = {
            f"{named(each)}: {sorted(parameters(each) - set(ids) - SHARED)}"
            for each in cells
            if parameters(each) - set(ids) - SHARED
        }
        assert not unknown, (
            f"of these paths nobody knows an id that exists: {unknown}; put one of "
            "tenant `default` into tests/http/world.py under the parameter's name, or "
            "the name into SHARED if the thing is no tenant's own"
        )

        theirs = asked_of(asked, cells, ids, "other")
        own = asked_of(asked, cells, ids, "default")

    wrong = [
        f"{named(operation)} of another tenant's: {answer}; look through the "
        "principal's tenant (`instruction.sees`, or a term of the query)"
        for operation, answer in zip(cells, theirs, strict=True)
        if answer.status != 404
    ] + [
        f"{named(operation)} of one's own: {answer}; the id in tests/http/world.py is "
        "of nothing that this route knows, so that it says 404 to others is no proof"
        for operation, answer in zip(cells, own, strict=True)
        if answer.status == 404
    ]
    assert not wrong, "\n".join(wrong[:20])


def first_of_each(world: World) -> dict[str, str]:
    return {name: found[0] for name, found in world.known.items() if found}


def asked_of(
    asked: Asked, cells: Sequence[Operation], ids: Mapping[str, str], tenant: str
) -> list[Told]:
    """Return what whoever may do everything in that tenant is answered."""
    shown = {
        surface: asked.known.knows(surface, who(surface, tenant))
        for surface in SURFACES
    }
    return asked.answers(
        asked.ask(each, shown[each.surface], ids=ids, body=example(each))
        for each in cells
    )


@pytest.mark.database
def test_without_its_guard_the_use_case_still_refuses(api: Api, asked: Asked) -> None:
    shown = {
        surface: asked.known.knows(surface, let_in(surface)) for surface in SURFACES
    }
    cells = [
        each
        for each in CLOSED
        if each.declared.is_change and each.declared.permission is not None
    ]
    with lived_in(api) as world:
        ids, before = first_of_each(world), recorded(api)

        answers = asked.answers(
            asked.ask(each, shown[each.surface], ids=ids, body=example(each))
            for each in cells
        )

        after = recorded(api)

    wrong = [
        f"{named(operation)}: {answer}; {REMEDIES.get(answer.status, UNGUARDED)}"
        for operation, answer in zip(cells, answers, strict=True)
        if answer.status != 403
    ]
    assert not wrong, "\n".join(wrong[:20])
    assert after - before == {"operator.action_refused": len(cells)}, (
        "a refused action is on record once, and changes nothing else"
    )


UNGUARDED: Final = (
    "its use case has to call instruction.require(…) first, where refusals are recorded"
)
REMEDIES: Final = dict.fromkeys(
    (400, 422),
    "the example of its body in the contract is not taken: give its members `examples`",
)


def recorded(api: Api) -> Counter[str]:
    """Return how many events there are of each tag."""
    with api.services.database.connection() as connection:
        rows = connection.execute("SELECT type FROM counterfoil.events").fetchall()
    return Counter(str(tag) for (tag,) in rows)
