"""Whatever people do to a provider, in whatever order: what they gave last opens."""

from dataclasses import dataclass, field
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from application.errors import (
    CredentialUnreadableError,
    NotFoundError,
    ProviderInUseError,
)
from application.providers.book import Decide, Provider, Standing
from application.providers.changes import (
    Configure,
    Reseal,
    Rotate,
    SetCredential,
    Switch,
)
from application.providers.credential import Credential
from application.providers.opening import credential_in
from infrastructure.seals.key_ring import KeyRing

SLUG = "stars"
KEYS = {f"k{n}": bytes(range(n, n + 32)) for n in range(4)}
OLD = KeyRing({"k1": KEYS["k1"]})
RING = KeyRing({"k2": KEYS["k2"], "k1": KEYS["k1"]})
FIRST = Credential(base_url="https://one.example", token="t1", currency="EUR")  # noqa: S106 - a test's
MADE = Configure("default", SLUG, "fragment")


@dataclass
class Desk:
    """One row and what was recorded of it, without a database."""

    provider: Provider | None = None
    n_open: int = 0
    is_named: bool = False
    is_quarantined: bool = False
    rested: timedelta = timedelta(days=1)
    tags: list[str] = field(default_factory=list[str])

    def does(self, change: Decide) -> str | None:
        """Return the tag of what was recorded; None: it was so already."""
        decided = change(self.standing)
        if decided is None:
            return None
        self.provider = decided.after
        self.tags.append(decided.event.tag)
        return decided.event.tag

    @property
    def standing(self) -> Standing | None:
        if self.provider is None:
            return None
        return Standing(
            provider=self.provider,
            n_open=self.n_open,
            is_named=self.is_named,
            disabled_for=None if self.provider.is_enabled else self.rested,
            is_quarantined=self.is_quarantined,
        )

    def credential(self, ring: KeyRing = RING) -> Credential | str:
        assert self.provider is not None
        return credential_in(self.provider, ring)


def desk(*changes: Decide) -> Desk:
    made = Desk()
    made.does(MADE)
    for change in changes:
        made.does(change)
    return made


def test_a_new_provider_is_enabled_and_has_no_credential() -> None:
    made = desk()

    assert made.tags == ["provider.configured"]
    assert made.provider == Provider(
        tenant_id="default", slug=SLUG, adapter="fragment", is_enabled=True
    )
    assert made.credential() == "is not set"


def test_each_change_is_nothing_when_it_is_so_already() -> None:
    made = desk(SetCredential(SLUG, FIRST, RING))

    assert made.does(MADE) is None
    assert made.does(Switch(SLUG, is_enabled=True)) is None
    assert made.does(SetCredential(SLUG, FIRST, RING)) is None
    assert made.does(Rotate(SLUG, FIRST.token, RING)) is None
    assert made.does(Reseal(SLUG, RING)) is None
    assert made.tags == ["provider.configured", "credential.set"]


def test_a_rotation_changes_the_token_and_nothing_else() -> None:
    made = desk(SetCredential(SLUG, FIRST, RING))

    assert made.does(Rotate(SLUG, "t2", RING)) == "credential.rotated"

    assert made.credential() == replace(FIRST, token="t2")  # noqa: S106 - a test's


def test_another_key_seals_the_same_secrets() -> None:
    made = desk(SetCredential(SLUG, FIRST, OLD))

    assert made.does(Reseal(SLUG, RING)) == "credential.resealed"

    assert made.credential(KeyRing({"k2": KEYS["k2"]})) == FIRST
    assert made.does(Reseal(SLUG, RING)) is None


def test_members_of_a_later_version_survive_another_key() -> None:
    made = desk(SetCredential(SLUG, FIRST, OLD))
    assert made.provider is not None
    later = FIRST.written()[:-1] + b',"accountId":7}'
    sealed = OLD.seal(later, made.provider.place)
    made.provider = replace(made.provider, sealed=sealed)

    made.does(Reseal(SLUG, RING))

    assert made.provider.sealed is not None
    assert RING.open(made.provider.sealed, made.provider.place) == later


@pytest.mark.parametrize(
    "change",
    [
        Switch(SLUG, is_enabled=True),
        SetCredential(SLUG, FIRST, RING),
        Rotate(SLUG, "t2", RING),
        Reseal(SLUG, RING),
    ],
)
def test_what_is_not_there_is_not_changed(change: Decide) -> None:
    with pytest.raises(NotFoundError, match="there is no provider stars"):
        change(None)


MOVED = replace(FIRST, base_url="https://two.example")


@pytest.mark.parametrize(
    "change",
    [Configure("default", SLUG, "idempotent"), SetCredential(SLUG, MOVED, RING)],
)
def test_where_it_is_asked_changes_only_when_nothing_is_asked_of_it(
    change: Decide,
) -> None:
    made = desk(SetCredential(SLUG, FIRST, RING))
    with pytest.raises(ProviderInUseError, match="disable it first"):
        made.does(change)

    made.does(Switch(SLUG, is_enabled=False))
    made.n_open = 3
    with pytest.raises(
        ProviderInUseError, match="3 deliveries that it was asked for are not"
    ):
        made.does(change)

    made.n_open, made.is_quarantined = 0, True
    with pytest.raises(ProviderInUseError, match="the restore guard is engaged"):
        made.does(change)

    made.is_quarantined, made.is_named = False, True
    made.rested = timedelta(seconds=149.5)
    with pytest.raises(ProviderInUseError, match="may go on: wait 1 s, or"):
        made.does(change)

    made.rested = timedelta(seconds=150)
    assert made.does(change) in {"provider.configured", "credential.set"}


@pytest.mark.parametrize(
    "change",
    [Configure("default", SLUG, "idempotent"), SetCredential(SLUG, MOVED, RING)],
)
def test_what_nothing_was_ever_owed_of_moves_as_soon_as_it_is_disabled(
    change: Decide,
) -> None:
    made = desk(SetCredential(SLUG, FIRST, RING), Switch(SLUG, is_enabled=False))
    made.rested = timedelta()

    assert made.does(change) in {"provider.configured", "credential.set"}


def test_without_a_credential_another_adapter_needs_nothing() -> None:
    made = desk()

    assert made.does(Configure("default", SLUG, "idempotent")) == "provider.configured"


def test_a_token_changes_whatever_is_asked_of_it() -> None:
    made = desk(SetCredential(SLUG, FIRST, RING))
    made.n_open = 3

    assert made.does(Rotate(SLUG, "t2", RING)) == "credential.rotated"
    again = replace(FIRST, token="t3")  # noqa: S106 - a test's
    assert made.does(SetCredential(SLUG, again, RING)) == "credential.set"


def test_what_does_not_open_is_given_anew_and_not_built_upon() -> None:
    made = desk(SetCredential(SLUG, FIRST, OLD))
    new = KeyRing({"k2": KEYS["k2"]})

    for change in (Rotate(SLUG, "t2", new), Reseal(SLUG, new)):
        with pytest.raises(
            CredentialUnreadableError, match="sealed by key k1, which is missing"
        ):
            made.does(change)
    assert made.does(SetCredential(SLUG, FIRST, new)) == "credential.set"
    assert made.credential(new) == FIRST


def test_a_rotation_does_not_bless_an_address_that_was_changed_by_hand() -> None:
    made = desk(SetCredential(SLUG, FIRST, RING))
    assert made.provider is not None
    made.provider = replace(made.provider, base_url="https://thief.example")

    with pytest.raises(CredentialUnreadableError, match="for another address"):
        made.does(Rotate(SLUG, "t2", RING))


tokens = st.sampled_from(["t1", "t2", "t3"])
deeds = st.one_of(
    st.tuples(st.just("set"), tokens),
    st.tuples(st.just("rotate"), tokens),
    st.tuples(st.just("reseal"), st.just("")),
    st.tuples(st.just("newkey"), st.sampled_from(sorted(KEYS))),
    st.tuples(st.just("switch"), st.sampled_from(["on", "off"])),
    st.tuples(st.just("adapter"), st.sampled_from(["fragment", "idempotent"])),
)


@given(st.lists(deeds, max_size=12))
def test_whatever_is_done_the_last_secret_that_was_given_is_what_opens(
    done: list[tuple[str, str]],
) -> None:
    made, active, token = desk(), "k0", None
    for deed, what in done:
        ring = KeyRing({active: KEYS[active], **KEYS})
        match deed:
            case "set":
                made.does(SetCredential(SLUG, replace(FIRST, token=what), ring))
                token = what
            case "rotate" if token is not None:
                made.does(Rotate(SLUG, what, ring))
                token = what
            case "reseal":
                made.does(Reseal(SLUG, ring))
                sealed = made.provider.sealed if made.provider else None
                assert sealed is None or sealed.key == active
            case "newkey":
                active = what
            case "switch":
                made.does(Switch(SLUG, is_enabled=what == "on"))
            case "adapter" if made.provider and not made.provider.is_enabled:
                made.does(Configure("default", SLUG, what))
            case _:
                pass
        expected = "is not set" if token is None else replace(FIRST, token=token)
        assert made.credential(ring) == expected
