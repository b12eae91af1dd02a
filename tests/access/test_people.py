"""People: added by whoever may do as much, and ended at once when they may no more."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from application.access.people import KeptPerson, WantedPerson
from application.errors import ForbiddenError, NotFoundError, StateConflictError
from domain.access.audience import Audience
from domain.access.permissions import Permission
from domain.access.roles import GRANTS, Role
from domain.errors import InvalidRequestError
from tests.access.world import HOME, OPERATOR_TOKEN, World
from tests.fixtures.http import PASSWORD

pytestmark = pytest.mark.database


def wanted(
    name: str = "grace", role: str = "owner", password: str = PASSWORD
) -> WantedPerson:
    return WantedPerson(tenant_id="default", name=name, role=role, password=password)


def first(world: World, name: str = "grace", role: str = "owner") -> KeptPerson:
    """The first owner, made by the credential of the first start."""
    principal = world.access.authenticate.token(OPERATOR_TOKEN, Audience.ADMIN, HOME)
    assert principal is not None
    instruction = principal.instruct("the first start", None)
    return world.access.people.add_first(wanted(name, role), instruction)


def test_the_operator_token_makes_the_first_owner_and_then_nothing(
    world: World,
) -> None:
    kept = first(world)

    assert (kept.person.name, kept.person.role) == ("grace", "owner")
    token = world.access.authenticate.token
    assert token(OPERATOR_TOKEN, Audience.ADMIN, HOME) is None
    assert world.facts() == [("person.created", "person", "bootstrap:operator-token")]
    assert world.is_in(world.signed_in("grace"))


def test_the_operator_token_opens_no_other_surface(world: World) -> None:
    token = world.access.authenticate.token

    assert token(OPERATOR_TOKEN, Audience.SHOP, HOME) is None
    assert token(OPERATOR_TOKEN[:-1] + "0", Audience.ADMIN, HOME) is None
    assert world.access.authenticate.session(OPERATOR_TOKEN) is None


def test_the_operator_token_may_do_nothing_else(world: World) -> None:
    principal = world.access.authenticate.token(OPERATOR_TOKEN, Audience.ADMIN, HOME)
    assert principal is not None
    instruction = principal.instruct("tries", None)

    for role in Role:
        with pytest.raises(ForbiddenError):
            world.access.people.add(wanted(role=role), instruction)
    with pytest.raises(InvalidRequestError, match="the first one has to be"):
        first(world, role="viewer")
    with pytest.raises(ForbiddenError):
        world.access.people.set_role("grace", "owner", instruction)
    assert principal.permissions == {Permission.PEOPLE_WRITE}


def test_of_two_who_start_at_once_one_is_the_owner(world: World) -> None:
    both = threading.Barrier(2)
    principal = world.access.authenticate.token(OPERATOR_TOKEN, Audience.ADMIN, HOME)
    assert principal is not None
    instruction = principal.instruct("the first start", None)

    def start(name: str) -> str:
        both.wait()
        try:
            world.access.people.add_first(wanted(name), instruction)
        except StateConflictError as error:
            return error.state
        return "won"

    with ThreadPoolExecutor(2) as threads:
        ends = list(threads.map(start, ("ada", "grace")))

    assert sorted(ends) == ["too late", "won"]
    assert len(world.access.people.all(None)) == 1
    assert [action for action, *_ in world.facts("operator.action_refused")] == [
        "add_person"
    ]


def test_a_password_is_kept_as_an_argon2id_hash(world: World) -> None:
    world.person()

    ((hashed,),) = world.rows("SELECT password FROM counterfoil.people")

    assert hashed.startswith("$argon2id$")
    logged = str(world.rows("SELECT e::text FROM counterfoil.events e"))
    assert PASSWORD not in logged
    assert hashed not in logged
    assert PASSWORD not in repr(wanted())


@pytest.mark.parametrize(
    ("password", "rule"),
    [
        ("short", "12 to 256 characters"),
        ("a" * 20, "at least 5 different characters"),
        ("abcde" * 60, "12 to 256 characters"),
        ("grace-hopper", "something else than the name"),
    ],
)
def test_a_password_that_is_soon_guessed_is_refused_unrepeated(
    world: World, password: str, rule: str
) -> None:
    with pytest.raises(InvalidRequestError, match=rule) as refusal:
        world.access.people.add(wanted("grace-hopper", "viewer", password), world.shell)

    assert password not in str(refusal.value).replace("grace-hopper", "")


@pytest.mark.parametrize(
    "name", ["", " ", "-ada", "a" * 65, "ada lovelace", "0" * 32, "ada\x00"]
)
def test_nobody_is_called_what_is_no_name(world: World, name: str) -> None:
    with pytest.raises(InvalidRequestError, match="name"):
        world.access.people.add(wanted(name, "viewer"), world.shell)


def test_a_name_is_one_persons_in_the_whole_installation(world: World) -> None:
    world.person("Grace", tenant_id="other")

    with pytest.raises(StateConflictError, match="give another name"):
        world.person("grace")


def test_nobody_gives_a_role_that_may_do_more_than_they(world: World) -> None:
    world.person()
    people = world.access.people
    someone = world.allowed(Permission.PEOPLE_WRITE, *GRANTS[Role.VIEWER])

    people.add(wanted("ada", "viewer"), someone)
    with pytest.raises(ForbiddenError):
        people.add(wanted("eve", "support"), someone)
    with pytest.raises(ForbiddenError):
        people.set_role("ada", "owner", someone)

    assert [(each.name, each.role) for each in people.all(None)] == [
        ("ada", "viewer"),
        ("grace", "operator"),
    ]


@pytest.mark.parametrize("role", [role for role in Role if role is not Role.OWNER])
def test_people_are_an_owners_business(world: World, role: Role) -> None:
    world.person()
    people, by = world.access.people, world.as_role(role)

    with pytest.raises(ForbiddenError, match="people:write"):
        people.add(wanted("eve", "viewer"), by)
    with pytest.raises(ForbiddenError, match="people:write"):
        people.set_role("grace", "viewer", by)
    with pytest.raises(ForbiddenError, match="people:write"):
        people.set_disabled("grace", by, disabled=True)
    with pytest.raises(ForbiddenError, match="people:write"):
        people.set_password("grace", PASSWORD, by)

    assert [action for action, *_ in world.facts("operator.action_refused")] == [
        "add_person",
        "change_role",
        "disable_person",
        "set_password",
    ]


def test_people_of_another_tenant_do_not_exist(world: World) -> None:
    world.person("grace", tenant_id="other")
    people, by = world.access.people, world.as_role(Role.OWNER)

    with pytest.raises(NotFoundError):
        people.set_role("grace", "viewer", by)
    with pytest.raises(NotFoundError):
        people.set_disabled("grace", by, disabled=True)
    with pytest.raises(NotFoundError):
        people.set_password("grace", PASSWORD, by)
    with pytest.raises(NotFoundError):
        people.add(
            WantedPerson(
                tenant_id="other", name="eve", role="viewer", password=PASSWORD
            ),
            by,
        )
    assert people.all("default") == ()


def test_another_role_ends_the_sessions_and_counts_from_the_next_one(
    world: World,
) -> None:
    world.person("grace", Role.OPERATOR)
    before = world.signed_in()

    world.access.people.set_role("grace", "viewer", world.shell)

    assert not world.is_in(before)
    session = world.access.authenticate.session(world.signed_in().cookie)
    assert session is not None
    assert session.principal.permissions == GRANTS[Role.VIEWER]
    assert ("person.role_changed", "person", "ada") in world.facts()


def test_whoever_is_disabled_is_out_at_once_and_comes_in_no_more(world: World) -> None:
    world.person()
    before = world.signed_in()

    world.access.people.set_disabled("grace", world.shell, disabled=True)

    assert not world.is_in(before)
    with pytest.raises(Exception, match="may sign in"):
        world.signed_in()
    world.access.people.set_disabled("grace", world.shell, disabled=False)
    assert not world.is_in(before)
    assert world.is_in(world.signed_in())


def test_another_password_ends_the_sessions(world: World) -> None:
    world.person()
    before, other = world.signed_in(), "another battery of it"

    world.access.people.set_password("grace", other, world.shell)

    assert not world.is_in(before)
    assert world.is_in(world.signed_in(password=other))
    with pytest.raises(Exception, match="may sign in"):
        world.signed_in()
