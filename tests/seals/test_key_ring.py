"""A secret opens in its own place, under its own key, unchanged, or not at all."""

import base64
import pickle
import traceback

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from application.providers.sealing import Place, Sealed, Unopened
from infrastructure.seals.key_ring import (
    KeyRing,
    MalformedKeysError,
    key_ring_of,
    new_key,
)

OLD = bytes(range(32))
NEW = bytes(range(32, 64))
RING = KeyRing({"new": NEW, "old": OLD})
HERE = Place(
    tenant="default", table="goods_providers", column="credential", row="stars"
)

names = st.text(max_size=12)
places = st.builds(Place, tenant=names, table=names, column=names, row=names)
secrets = st.binary(max_size=200)


def written(key_id: str, key: bytes) -> str:
    return f"{key_id}:{base64.b64encode(key).decode()}"


@given(secrets, places)
def test_what_is_sealed_opens_in_its_place(secret: bytes, place: Place) -> None:
    sealed = RING.seal(secret, place)

    assert sealed.key == "new"
    assert len(sealed.content) == 12 + len(secret) + 16
    assert RING.open(sealed, place) == secret


@given(secrets, places, places)
def test_what_is_moved_to_any_other_place_does_not_open(
    secret: bytes, place: Place, other: Place
) -> None:
    assume(place != other)

    sealed = RING.seal(secret, place)

    assert RING.open(sealed, other) == Unopened("does_not_open", "new")


@given(st.lists(names, min_size=1, max_size=8), st.data())
def test_no_two_places_are_told_apart_by_where_their_names_are_cut(
    letters: list[str], data: st.DataObject
) -> None:
    """All the cuts of one text into four names are four different places."""
    whole = "".join(letters)
    cuts = st.lists(st.integers(0, len(whole)), min_size=3, max_size=3).map(sorted)
    one, other = data.draw(cuts), data.draw(cuts)
    assume(one != other)

    sealed = RING.seal(b"token", cut(whole, one))

    assert RING.open(sealed, cut(whole, other)) == Unopened("does_not_open", "new")


def cut(whole: str, cuts: list[int]) -> Place:
    first, second, third = cuts
    return Place(
        tenant=whole[:first],
        table=whole[first:second],
        column=whole[second:third],
        row=whole[third:],
    )


@given(st.data())
def test_one_bit_that_is_changed_is_noticed(data: st.DataObject) -> None:
    sealed = RING.seal(b"token", HERE)
    bit = data.draw(st.integers(0, len(sealed.content) * 8 - 1))
    content = bytearray(sealed.content)
    content[bit // 8] ^= 1 << bit % 8

    spoilt = Sealed("new", bytes(content))

    assert RING.open(spoilt, HERE) == Unopened("does_not_open", "new")


@given(st.binary(max_size=40), st.sampled_from(["new", "old", "lost"]))
def test_what_was_never_sealed_is_opened_by_no_key(content: bytes, key: str) -> None:
    code = "key_missing" if key == "lost" else "does_not_open"

    assert RING.open(Sealed(key, content), HERE) == Unopened(code, key)


def test_an_old_key_opens_and_a_key_that_is_dropped_is_named() -> None:
    sealed = KeyRing({"old": OLD}).seal(b"token", HERE)

    assert RING.open(sealed, HERE) == b"token"
    assert KeyRing({"new": NEW}).open(sealed, HERE) == Unopened("key_missing", "old")
    assert (RING.active, RING.ids) == ("new", ("new", "old"))


def test_a_ciphertext_does_not_open_under_another_key_of_the_same_id() -> None:
    sealed = KeyRing({"k": OLD}).seal(b"token", HERE)

    assert KeyRing({"k": NEW}).open(sealed, HERE) == Unopened("does_not_open", "k")


def test_the_same_secret_is_never_sealed_alike() -> None:
    assert len({RING.seal(b"token", HERE).content for _ in range(100)}) == 100


def test_keys_are_read_in_their_order() -> None:
    ring = key_ring_of(f"{written('k2', NEW)}, {written('k1', OLD)}")

    assert ring.ids == ("k2", "k1")
    assert ring.open(RING.seal(b"token", HERE), HERE) == Unopened("key_missing", "new")
    assert KeyRing({"k2": NEW}).open(ring.seal(b"token", HERE), HERE) == b"token"


def test_a_new_key_is_read_and_no_two_are_alike() -> None:
    made = {new_key("k1") for _ in range(50)}

    assert len(made) == 50
    assert {key_ring_of(each).active for each in made} == {"k1"}
    with pytest.raises(MalformedKeysError):
        new_key("not an id")


SECRET = base64.b64encode(NEW).decode()


@pytest.mark.parametrize(
    ("given_keys", "problem"),
    [
        (SECRET, "entry 1 does not begin with an id"),
        (f"{SECRET}:k1", "entry 1 does not begin with an id"),
        (f"k1:{SECRET},", "entry 2 does not begin with an id"),
        (f"k1:{SECRET[:-4]}", "the key of entry 1 is not the base64 of 32 bytes"),
        (f"k1:{SECRET}{SECRET}", "the key of entry 1 is not the base64 of 32 bytes"),
        (f"k1:{SECRET[:-2]}!=", "the key of entry 1 is not the base64 of 32 bytes"),
        (f"k1:{'é' + SECRET}", "the key of entry 1 is not the base64 of 32 bytes"),
        (f"k1:{SECRET},k1:{SECRET}", "entry 2 has the id of an earlier one"),
        (f"k1:{SECRET},k2:{SECRET}", "entry 2 is the key of an earlier one"),
        (written("k1", bytes(32)), "the key of entry 1 is one byte 32 times"),
        (f"K1:{SECRET}", "entry 1 does not begin with an id"),
    ],
)
def test_keys_that_are_none_are_refused_without_a_word_of_them(
    given_keys: str, problem: str
) -> None:
    with pytest.raises(MalformedKeysError, match=problem) as refused:
        key_ring_of(given_keys)

    told = "".join(traceback.format_exception(refused.value))
    assert SECRET[:12] not in told


@given(st.text())
def test_any_text_is_a_key_ring_or_refused(text: str) -> None:
    try:
        ring = key_ring_of(text)
    except MalformedKeysError:
        return
    assert ring.ids


def test_a_key_ring_shows_and_gives_away_no_key() -> None:
    assert repr(RING) == str(RING) == "KeyRing(new, old)"
    with pytest.raises(TypeError, match="not pickled"):
        pickle.dumps(RING)
