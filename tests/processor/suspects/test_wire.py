"""What comes out of a cell is believed as little as any other text."""

import socket
import struct
from collections.abc import Iterator
from datetime import timedelta

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from domain.entitlement.events import Granted
from domain.entitlement.state import Entitlement
from domain.jobs.outcome import (
    Ambiguous,
    Cancel,
    Completed,
    Fail,
    Gated,
    Park,
    Retry,
    Snooze,
)
from domain.jobs.verdict import Ending, Interrupted, Unfit
from domain.stream import Change, Ref, StreamKind
from infrastructure.ids import new_id
from infrastructure.processor.suspects.endings import ending_of, told
from infrastructure.processor.suspects.wire import (
    LARGEST_FRAME,
    Began,
    Ended,
    Wire,
    WireError,
    message_of,
)
from tests.domain.jobs.stages import NOW
from tests.golden.pinned import PINNED
from tests.processor.generated import json_objects

words = st.text(max_size=20)
clean_words = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20
)
endings: st.SearchStrategy[Ending] = st.one_of(
    st.builds(Completed, result=st.none() | json_objects),
    st.builds(
        Retry,
        code=clean_words,
        error=clean_words,
        not_before_seconds=st.none() | st.floats(0, 1e9),
    ),
    st.builds(
        Snooze,
        until=st.timedeltas(timedelta(-9), timedelta(9)).map(lambda away: NOW + away),
        cause=clean_words,
    ),
    st.builds(Park, cause=clean_words, error=clean_words),
    st.builds(Gated, gate=clean_words, cause=clean_words, error=clean_words),
    st.builds(Fail, code=clean_words, error=clean_words),
    st.builds(Cancel, code=clean_words),
    st.builds(Ambiguous, code=clean_words, error=clean_words),
    st.builds(Interrupted, cause=clean_words, wait_seconds=st.floats(0, 9)),
    st.builds(Unfit, code=clean_words, error=clean_words),
)


def through(ending: Ending) -> Ending:
    """Return what comes out at the other end."""
    message = message_of(msgspec.json.encode(told(ending)))
    assert isinstance(message, Ended)
    return ending_of(message)


@given(endings)
def test_an_ending_comes_out_as_it_went_in(ending: Ending) -> None:
    said = ending
    if isinstance(ending, Completed):
        # As it would be stored: JSON knows no infinity.
        stored = msgspec.json.decode(msgspec.json.encode(ending.result))
        said = Completed(result=stored)
    assert through(ending) == said


def test_changes_come_out_as_they_went_in() -> None:
    granted = PINNED["entitlement.granted", 1]
    assert isinstance(granted, Granted)
    change = Change(
        ref=Ref(StreamKind.ENTITLEMENT, new_id()),
        tenant_id="default",
        expected=0,
        events=(granted,),
        state=Entitlement(version=1),
    )

    assert through(Completed(changes=(change,))) == Completed(changes=(change,))


@given(code=words, error=words)
def test_bad_text_is_told_cleaned(code: str, error: str) -> None:
    said = through(Fail(code=code + "\0\ud800", error=error + "\ud800"))

    assert isinstance(said, Fail)
    assert said.code.endswith("\ufffd\ufffd")
    said.error.encode()


@pytest.mark.parametrize(
    "result",
    [{"n": object()}, {"text": "\ud800"}, {"deep": [[[[[]]]]] * 2, "n": 2**200}],
    ids=["foreign", "surrogate", "fine"],
)
def test_a_result_that_is_no_json_has_failed_for_good(
    result: dict[str, object],
) -> None:
    said = through(Completed(result=result))

    assert isinstance(said, Completed) == ("deep" in result)
    assert isinstance(said, Fail) != ("deep" in result)


@given(st.binary(max_size=200))
def test_no_frame_raises_anything_else(frame: bytes) -> None:
    try:
        message = message_of(frame)
    except WireError:
        return
    assert isinstance(message, Began)


texts = st.sampled_from(["Completed", "Retry", "LeaseLost", "Fail", "", "Unfit"])


@given(texts, json_objects)
def test_no_ending_raises_anything_else(word: str, members: dict[str, object]) -> None:
    raw = msgspec.Raw(msgspec.json.encode(members))
    try:
        said = ending_of(Ended(word, raw))
    except WireError:
        return
    assert type(said).__name__ in {word, "Retry"}


@pytest.fixture
def ends() -> Iterator[tuple[socket.socket, socket.socket]]:
    a, b = socket.socketpair()
    with a, b:
        yield a, b


type Ends = tuple[socket.socket, socket.socket]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
@given(cuts=st.lists(st.integers(1, 7), max_size=30))
def test_frames_are_whole_however_they_arrive(cuts: list[int], ends: Ends) -> None:
    sender, receiver = ends
    frame = msgspec.json.encode(Began())
    sent = 3 * (struct.pack("!I", len(frame)) + frame)
    wire = Wire(receiver)
    received: list[bytes] = []
    for cut in [*cuts, len(sent)]:
        part, sent = sent[:cut], sent[cut:]
        if not part:
            break
        sender.sendall(part)
        while (got := wire.receive(0.0)) is not None:
            received.append(got)
    while len(received) < 3:
        received.append(wire.wait())

    assert received == [frame] * 3


def test_a_frame_that_is_too_large_is_refused_before_it_is_read(ends: Ends) -> None:
    sender, receiver = ends
    sender.sendall(struct.pack("!I", LARGEST_FRAME + 1))

    with pytest.raises(WireError):
        Wire(receiver).wait()


def test_whoever_hangs_up_is_heard(ends: Ends) -> None:
    sender, receiver = ends
    sender.close()

    with pytest.raises(WireError):
        Wire(receiver).wait()


def test_a_cell_that_does_not_read_is_not_waited_for_for_ever(
    ends: Ends, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("infrastructure.processor.suspects.wire.SEND_SECONDS", 0.05)
    wire = Wire(ends[0])
    large = Ended("Completed", msgspec.Raw(b'"' + b"x" * 4_000_000 + b'"'))

    with pytest.raises(WireError):
        wire.send(large)
