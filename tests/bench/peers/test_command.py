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
