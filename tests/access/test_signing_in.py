"""Signing in: for a while, by name and password, telling nobody who there is."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from application.access.signing_in import SignIn
from application.errors import QuotaExceededError, UnauthorizedError
from domain.access.people import csrf_of
from domain.access.roles import GRANTS, Role
from domain.event import Actor
from infrastructure.access.passwords import Argon2Passwords
from tests.access.world import HOME, World
from tests.fixtures.http import PASSWORD, QUICK

pytestmark = pytest.mark.database


def test_a_session_is_of_the_person_with_their_role(world: World) -> None:
    world.person("grace", Role.FINANCE)

    signed_in = world.signed_in(" Grace ")

    session = world.access.authenticate.session(signed_in.cookie)
    assert session is not None
    assert session.principal.actor == Actor(type="operator", id="grace")
    assert session.principal.role is Role.FINANCE
    assert session.principal.permissions == GRANTS[Role.FINANCE]
    assert session.csrf == signed_in.csrf == csrf_of(bytes.fromhex(signed_in.cookie))
    assert world.facts()[-1] == ("session.began", "person", "grace")


def test_nothing_that_opens_a_session_is_kept_or_shown(world: World) -> None:
    world.person()
    signed_in = world.signed_in()

    kept = str(world.rows("SELECT s::text FROM counterfoil.sessions s"))
    logged = str(world.rows("SELECT e::text FROM counterfoil.events e"))

    for secret in (signed_in.cookie, signed_in.csrf):
        assert secret not in kept + logged + repr(signed_in)


def test_a_session_that_rests_for_half_an_hour_is_over(world: World) -> None:
    world.person()
    signed_in = world.signed_in()
    for _ in range(3):
        world.passes(minutes=29)
        assert world.is_in(signed_in)

    world.passes(minutes=30)

    assert not world.is_in(signed_in)


def test_a_look_at_a_session_is_no_use_of_it(world: World) -> None:
    """A stream that stays open looks each minute, whether anybody sits before it."""
    world.person()
    signed_in = world.signed_in()
    look = world.access.authenticate.session
    for _ in range(2):
        world.passes(minutes=14)
        assert look(signed_in.cookie, is_use=False) is not None

    world.passes(minutes=2)

    assert look(signed_in.cookie, is_use=False) is None


def test_no_session_lasts_longer_than_twelve_hours(world: World) -> None:
    world.person()
    signed_in = world.signed_in()
    for _ in range(25):
        world.passes(minutes=28)
        assert world.is_in(signed_in)

    world.passes(minutes=21)

    assert not world.is_in(signed_in)


def test_its_use_is_written_once_a_minute(world: World) -> None:
    world.person()
    signed_in = world.signed_in()
    version = "SELECT xmin::text FROM counterfoil.sessions"
    born = world.rows(version)

    world.passes(seconds=59)
    assert world.is_in(signed_in)
    assert world.rows(version) == born

    world.passes(seconds=2)
    assert world.is_in(signed_in)
    assert world.rows(version) != born


def test_signing_in_again_ends_the_session_before(world: World) -> None:
    world.person()
    first = world.signed_in()

    second = world.signed_in(cookie=first.cookie)

    assert not world.is_in(first)
    assert world.is_in(second)
    assert first.cookie != second.cookie


def test_signing_out_ends_the_session_and_again_nothing(world: World) -> None:
    world.person()
    signed_in = world.signed_in()

    for _ in range(2):
        world.access.sign_in.out(signed_in.cookie)
    world.access.sign_in.out("no cookie")

    assert not world.is_in(signed_in)
    ended = [each for each in world.facts() if each[0] == "session.ended"]
    assert ended == [("session.ended", "person", "grace")]


def test_sessions_that_are_over_are_removed_when_somebody_comes_back(
    world: World,
) -> None:
    world.person()
    world.signed_in()
    world.passes(hours=13)

    world.signed_in()

    assert world.rows("SELECT count(*) FROM counterfoil.sessions") == [(1,)]


@pytest.mark.parametrize(
    "cookie", ["", "0" * 63, "0" * 64, "F" * 64, "é" * 64, "0" * 64 + "\n"]
)
def test_no_other_cookie_is_a_session(world: World, cookie: str) -> None:
    world.person()
    world.signed_in()

    assert world.access.authenticate.session(cookie) is None


class Watched:
    """Passwords that tell what they were asked for."""

    def __init__(self) -> None:
        self.passwords = Argon2Passwords(QUICK)
        self.asked: list[bool] = []

    def hashed(self, password: str) -> str:
        return self.passwords.hashed(password)

    def matches(self, hashed: str | None, password: str) -> bool:
        self.asked.append(hashed is not None)
        return self.passwords.matches(hashed, password)


def test_whoever_there_is_no_answer_and_no_work_tells(world: World) -> None:
    world.person("grace")
    world.person("gone")
    world.access.people.set_disabled("gone", world.shell, disabled=True)
    watched = Watched()
    sign_in = SignIn(
        sessions=world.access.sign_in.sessions,
        attempts=world.access.sign_in.attempts,
        passwords=watched,
        make_secret=world.access.sign_in.make_secret,
    )

    refusals = []
    for name, password in (
        ("grace", "a wrong password"),
        ("nobody", PASSWORD),
        ("gone", PASSWORD),
        ("no name at all", PASSWORD),
    ):
        with pytest.raises(UnauthorizedError) as refusal:
            sign_in(name, password, address=HOME)
        refusals.append(str(refusal.value))

    assert len(set(refusals)) == 1
    assert watched.asked == [True, False, True, False]


def test_the_hash_of_nobody_takes_the_work_of_somebodys() -> None:
    """Both go through the same function, with the same cost."""
    passwords = Argon2Passwords(QUICK)

    assert not passwords.matches(None, PASSWORD)
    assert passwords.matches(passwords.hashed(PASSWORD), PASSWORD)
    assert not passwords.matches("$argon2id$broken", PASSWORD)


@pytest.mark.parametrize("name", ["grace", "nobody"])
def test_ten_attempts_a_minute_are_one_accounts(world: World, name: str) -> None:
    world.person("grace")
    for n in range(10):
        with pytest.raises(UnauthorizedError):
            world.access.sign_in(name, "a wrong password", address=f"192.0.2.{n}")

    with pytest.raises(QuotaExceededError) as refusal:
        world.access.sign_in(name, PASSWORD, address="198.51.100.1")

    assert refusal.value.code == "quota_exceeded"
    assert 1 <= refusal.value.retry_after_seconds <= 60
    world.passes(seconds=61)
    assert world.is_in(world.signed_in("grace"))


@pytest.mark.parametrize(
    ("addresses", "other"),
    [
        ([HOME] * 30, "192.0.2.8"),
        ([f"2001:db8::{n:x}" for n in range(30)], "2001:db8:0:1::1"),
    ],
)
def test_thirty_attempts_a_minute_are_one_sites(
    world: World, addresses: list[str], other: str
) -> None:
    world.person("grace")
    for n, address in enumerate(addresses):
        with pytest.raises(UnauthorizedError):
            world.access.sign_in(f"nobody-{n}", PASSWORD, address=address)

    with pytest.raises(QuotaExceededError):
        world.access.sign_in("grace", PASSWORD, address=addresses[0])

    assert world.access.sign_in("grace", PASSWORD, address=other).person.name == "grace"


def test_many_at_once_get_no_more_attempts_than_there_are(world: World) -> None:
    world.person("grace")

    def attempt(_: int) -> str:
        try:
            world.access.sign_in("grace", "a wrong password", address=HOME)
        except (UnauthorizedError, QuotaExceededError) as refusal:
            return refusal.code
        return "in"

    with ThreadPoolExecutor(4) as threads:
        codes = list(threads.map(attempt, range(24)))

    assert codes.count("unauthorized") == 10
    assert codes.count("quota_exceeded") == 14


def test_what_was_typed_is_not_kept_and_counts_are_forgotten(world: World) -> None:
    with pytest.raises(UnauthorizedError):
        world.signed_in("nobody", "a password as a name")
    kept = str(world.rows("SELECT a::text FROM counterfoil.sign_in_attempts a"))
    assert "nobody" not in kept
    world.passes(minutes=3)

    with pytest.raises(UnauthorizedError):
        world.access.sign_in("else", PASSWORD, address="198.51.100.1")

    assert world.rows("SELECT count(*) FROM counterfoil.sign_in_attempts") == [(2,)]


def test_whoever_loses_their_place_while_signing_in_does_not_come_in(
    world: World,
) -> None:
    """Between the look at the password and the session somebody disables them."""
    world.person("grace")
    sessions = world.access.sign_in.sessions
    known = sessions.known("grace")
    assert known is not None

    world.access.people.set_disabled("grace", world.shell, disabled=True)

    assert sessions.begin(known, bytes(32), None, None) is None
    assert world.rows("SELECT FROM counterfoil.sessions") == []


def test_a_few_passwords_are_checked_at_once_and_others_are_told_to_wait() -> None:
    busy = Argon2Passwords(QUICK, at_once=1, patience_seconds=0.0)
    hashed = busy.hashed(PASSWORD)
    with busy.turn(), pytest.raises(QuotaExceededError, match="wait to be checked"):
        busy.matches(hashed, PASSWORD)

    assert busy.matches(hashed, PASSWORD)
