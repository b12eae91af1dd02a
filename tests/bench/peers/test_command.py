"""What the command refuses before it measures anything."""

import sys
from pathlib import Path

import pytest

from bench.peers.__main__ import main


def test_a_folder_that_cannot_be_written_is_told_at_once(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    in_the_way = tmp_path / "report"
    in_the_way.write_text("a file")
    monkeypatch.setattr(sys, "argv", ["bench.peers", "--out", str(in_the_way / "x")])

    with pytest.raises(SystemExit):
        main()

    assert f"--out {in_the_way / 'x'}: Not a directory" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("option", "told"),
    [
        (["--only", "nosuch"], "no such family: nosuch; there are peers, "),
        (["--only", ""], "no such family: the empty name; there are peers, "),
        (["--systems", "dbos,x"], "no such queue: x; there are counterfoil, "),
    ],
)
def test_a_name_that_nobody_has_is_wrong_usage(
    option: list[str],
    told: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(sys, "argv", ["bench.peers", "--out", str(tmp_path), *option])

    with pytest.raises(SystemExit) as left:
        main()

    assert left.value.code == 2
    assert told in capsys.readouterr().err
