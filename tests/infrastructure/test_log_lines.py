"""Log lines go to standard error as it was, or nowhere."""

import io
import json
import os
import sys
from pathlib import Path

import msgspec
import pytest

from infrastructure.telemetry import show


def test_a_line_never_goes_into_what_has_taken_over_the_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A handler closes descriptor 2; the next connection to the database gets it."""
    log, other = tmp_path / "log", tmp_path / "other"
    with log.open("w", encoding="utf-8") as stream:
        monkeypatch.setattr(sys, "stderr", stream)
        show("before", {"n": 1})
        with other.open("w", encoding="utf-8") as connection:
            os.dup2(connection.fileno(), stream.fileno())
            show("after", {"n": 2})

    assert [json.loads(line)["event"] for line in log.read_text().splitlines()] == [
        "before"
    ]
    assert other.read_text() == ""


def test_no_value_stands_for_what_every_line_says_itself(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)

    show("told", {"event": "forged", "pid": 1, "at": "never", "n": 1})

    line = json.loads(stream.getvalue())
    assert (line["event"], line["pid"], line["n"]) == ("told", os.getpid(), 1)
    assert line["at"] != "never"


def test_i12_a_line_holds_no_secret_whoever_writes_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)

    said = "Bearer hunter2hunter2"
    show("told", {"password": "hunter2", "said": said, "token": 7})
    show("told", {"n": 4929123412341234, "secret=hunter2": "x"})

    told = stream.getvalue()
    assert "hunter2" not in told
    assert "49291234" not in told
    assert json.loads(told.splitlines()[0])["token"] == 7


def test_a_descriptor_that_was_closed_ends_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    descriptor = os.open(tmp_path / "log", os.O_RDWR | os.O_CREAT)
    stream = open(descriptor, "w", encoding="utf-8", closefd=False)  # noqa: SIM115 - by its number, and left open
    monkeypatch.setattr(sys, "stderr", stream)
    show("before", {})
    os.close(descriptor)

    show("after", {})

    monkeypatch.undo()
    stream.close()


def test_a_stream_without_a_descriptor_is_written_to(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)

    show("told", {})

    assert json.loads(stream.getvalue())["event"] == "told"


def test_without_a_standard_error_there_is_silence(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "stderr", None)

    show("told", {})


def test_whatever_a_handler_logs_the_line_is_json_and_says_itself_when_and_who(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)

    show("told", {"at": "noon", "pid": "mine", "share": float("nan"), "n": 1.5})

    line = msgspec.json.decode(stream.getvalue())  # strict, as readers of logs are
    assert (line["event"], line["pid"], line["at"][:2]) == ("told", os.getpid(), "20")
    assert (line["share"], line["n"]) == ("nan", 1.5)
