"""Tokens of programs: shown once, kept as a digest, good until they are not."""

import pytest

from application.access.tokens import Made
from application.errors import ForbiddenError, NotFoundError, StateConflictError
from domain.access.audience import Audience
from domain.access.permissions import Permission
from domain.access.roles import Role
from domain.errors import InvalidRequestError
from domain.event import Actor
from tests.access.world import HOME, World

pytestmark = pytest.mark.database

JOBS = Permission.JOBS_READ


def opens(world: World, made: Made, surface: Audience = Audience.SHOP) -> bool:
    authenticate = world.access.authenticate
    return authenticate.token(made.text, surface, HOME) is not None


def test_a_token_opens_its_own_surface_as_what_it_is_allowed(world: World) -> None:
    made = world.token(JOBS, Permission.JOBS_WRITE, name="webshop")

    principal = world.access.authenticate.token(made.text, Audience.SHOP, HOME)

    assert principal is not None
    assert principal.actor == Actor(type="shop", id="webshop")
    assert principal.permissions == {JOBS, Permission.JOBS_WRITE}
    assert principal.tenant_id == "default"
    assert principal.role is None
    assert not opens(world, made, Audience.ADMIN)


def test_a_token_of_operators_acts_as_one_and_opens_no_shop(world: World) -> None:
    made = world.token(JOBS, name="deployer", surface="admin")

    principal = world.access.authenticate.token(made.text, Audience.ADMIN, HOME)

    assert principal is not None
    assert principal.actor == Actor(type="operator", id="token:deployer")
    assert not opens(world, made)


def test_nothing_of_a_secret_is_kept_or_shown(world: World) -> None:
    made = world.token(JOBS)
    secret = made.text.rsplit("_", 1)[1]

    kept = str(world.rows("SELECT t::text FROM counterfoil.api_tokens t"))
    logged = str(world.rows("SELECT e::text FROM counterfoil.events e"))

    assert secret not in kept + logged + repr(made) + str(world.access.tokens.all(None))


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text[:-1] + ("0" if text[-1] != "0" else "1"),
        lambda text: text.replace("_live_", "_staging_"),
        lambda text: text[:9] + "f" * 32 + text[41:],
        lambda text: text.upper(),
        lambda text: text + " ",
        lambda _: "",
        lambda _: "ffl_live_",
        lambda text: text[:-64] + "é" * 64,
    ],
)
def test_a_text_that_differs_opens_nothing(world: World, change: object) -> None:
    made = world.token(JOBS)
    assert callable(change)

    other = change(made.text)

    assert world.access.authenticate.token(other, Audience.SHOP, HOME) is None


def test_a_token_is_over_when_it_expires(world: World) -> None:
    made = world.token(JOBS, expires_in_days=1)
    world.passes(hours=23, minutes=59)
    assert opens(world, made)

    world.passes(minutes=2)

    assert not opens(world, made)
    assert [each.state for each in world.access.tokens.all("default")] == ["expired"]


@pytest.mark.parametrize("days", [0, -1, 366])
def test_every_token_expires_within_a_year(world: World, days: int) -> None:
    with pytest.raises(InvalidRequestError, match="expiresInDays: 1 to 365 days"):
        world.token(JOBS, expires_in_days=days)


def test_a_revoked_token_opens_nothing_from_the_next_request(world: World) -> None:
    made = world.token(JOBS, name="webshop")
    assert opens(world, made)

    kept = world.access.tokens.revoke("webshop", world.shell)

    assert not opens(world, made)
    assert kept.token.state == "revoked"
    again = world.access.tokens.revoke(str(made.token.id), world.shell)
    assert again.token.revoked_at == kept.token.revoked_at
    assert world.facts() == [
        ("token.created", "token", "ada"),
        ("token.revoked", "token", "ada"),
        ("token.revoked", "token", "ada"),
    ]


def test_both_secrets_are_good_while_a_program_takes_over(world: World) -> None:
    first = world.token(JOBS)
    second = world.access.tokens.rotate("shop", world.shell, overlap_seconds=3_600)
    assert opens(world, first)
    assert opens(world, second)

    world.passes(seconds=3_601)

    assert not opens(world, first)
    assert opens(world, second)


def test_never_more_than_two_secrets_are_good(world: World) -> None:
    secrets = [world.token(JOBS)]
    secrets += [world.access.tokens.rotate("shop", world.shell) for _ in range(2)]

    assert [opens(world, each) for each in secrets] == [False, True, True]


def test_without_overlap_the_secret_before_is_over_at_once(world: World) -> None:
    first = world.token(JOBS)

    second = world.access.tokens.rotate("shop", world.shell, overlap_seconds=0)

    assert not opens(world, first)
    assert opens(world, second)


def test_no_secret_outlives_the_token_that_it_was_given_for(world: World) -> None:
    first = world.token(JOBS, expires_in_days=1)
    world.passes(hours=23)
    world.access.tokens.rotate("shop", world.shell, overlap_seconds=7_200)

    world.passes(minutes=61)

    assert not opens(world, first)


def test_a_revoked_token_is_not_given_another_secret(world: World) -> None:
    world.token(JOBS)
    world.access.tokens.revoke("shop", world.shell)

    with pytest.raises(StateConflictError, match="revoked"):
        world.access.tokens.rotate("shop", world.shell)


def test_the_name_of_a_live_token_is_taken_until_it_is_revoked(world: World) -> None:
    world.token(JOBS)
    with pytest.raises(StateConflictError, match="give another name"):
        world.token(JOBS)
    world.token(JOBS, tenant_id="other")

    world.access.tokens.revoke("shop", world.allowed(*Permission))

    assert opens(world, world.token(JOBS))


def test_a_token_may_be_bound_to_places(world: World) -> None:
    made = world.token(JOBS, allowed_from=("198.51.100.0/24", "2001:db8::1"))
    token = world.access.authenticate.token

    assert token(made.text, Audience.SHOP, "198.51.100.9") is not None
    assert token(made.text, Audience.SHOP, "::ffff:198.51.100.9") is not None
    assert token(made.text, Audience.SHOP, "2001:db8::1") is not None
    assert token(made.text, Audience.SHOP, HOME) is None
    assert token(made.text, Audience.SHOP, "") is None


def test_its_use_is_written_once_a_minute(world: World) -> None:
    made = world.token(JOBS)
    version = "SELECT xmin::text, last_used_at FROM counterfoil.api_tokens"
    assert opens(world, made)
    (first,) = world.rows(version)

    world.passes(seconds=59)
    assert opens(world, made)
    (second,) = world.rows(version)
    world.passes(seconds=2)
    assert opens(world, made)
    (third,) = world.rows(version)

    assert first[1] is not None
    assert second == first
    assert third[1] > second[1]


def test_nobody_waits_for_whoever_changes_the_token(world: World) -> None:
    made = world.token(JOBS)
    other = world.server.connect()
    other.execute("BEGIN")
    other.execute("SELECT FROM counterfoil.api_tokens FOR UPDATE")

    assert opens(world, made)

    other.execute("ROLLBACK")


def test_nobody_gives_a_token_more_than_they_may_do(world: World) -> None:
    administrator = world.as_role(Role.ADMINISTRATOR)
    made = world.token(Permission.PEOPLE_WRITE, name="strong")

    with pytest.raises(ForbiddenError, match="people:write"):
        world.access.tokens.rotate("strong", administrator)

    assert opens(world, made)
    assert world.facts("operator.action_refused") == [("rotate_token", "None", "ada")]


def test_only_who_may_makes_tokens_and_the_refusal_is_on_record(world: World) -> None:
    world.token(JOBS)
    viewer = world.as_role(Role.VIEWER)
    tokens = world.access.tokens
    for ask in (tokens.rotate, tokens.revoke):
        with pytest.raises(ForbiddenError, match="tokens:write"):
            ask("shop", viewer)

    assert [action for action, *_ in world.facts("operator.action_refused")] == [
        "rotate_token",
        "revoke_token",
    ]


def test_tokens_of_another_tenant_do_not_exist(world: World) -> None:
    made = world.token(JOBS, tenant_id="other")
    owner = world.as_role(Role.OWNER, "default")

    for key in ("shop", str(made.token.id)):
        with pytest.raises(NotFoundError):
            world.access.tokens.revoke(key, owner)

    assert world.access.tokens.all("default") == ()
    assert opens(world, made)


def test_a_token_and_its_fact_are_there_together_or_not_at_all(world: World) -> None:
    connection = world.server.connect()
    connection.execute(
        "CREATE FUNCTION counterfoil.no_more() RETURNS trigger LANGUAGE plpgsql "
        "AS $$ BEGIN RAISE EXCEPTION 'no'; END $$; "
        "CREATE TRIGGER no_more BEFORE INSERT ON counterfoil.events "
        "FOR EACH STATEMENT EXECUTE FUNCTION counterfoil.no_more()"
    )

    with pytest.raises(Exception, match="no"):
        world.token(JOBS)

    assert world.rows("SELECT FROM counterfoil.api_tokens") == []
