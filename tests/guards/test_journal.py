"""What the host remembers of its purchases, whatever happens to the file."""

import os
import subprocess
import sys
import threading
from pathlib import Path
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infrastructure.guards.journal import NAME, FileJournal, Line

ORDER = UUID("0195bd5e-5c4a-7000-8000-000000000001")
BODY = st.binary(max_size=300)


def key(line: int = 1, decision: int = 1) -> str:
    return f"goods:{ORDER}:{line}:{decision}"


def test_lines_come_back_in_their_order(tmp_path: Path) -> None:
    journal = FileJournal(tmp_path / "a" / "b")

    for n in range(1, 4):
        journal.write(key(n), n)

    assert journal.newest() == tuple(Line(key(n), n) for n in range(1, 4))
    assert journal.newest(2) == (Line(key(2), 2), Line(key(3), 3))
    assert (journal.newest()[2].order, journal.newest()[2].number) == (ORDER, 3)


def test_there_is_nothing_where_nothing_was_bought(tmp_path: Path) -> None:
    assert FileJournal(tmp_path / "none").newest() == ()


@settings(max_examples=25)  # each puts three lines on the disk
@given(torn=BODY, cut=st.integers(min_value=0, max_value=80))
def test_what_was_torn_hides_nothing_and_is_no_line(
    tmp_path_factory: pytest.TempPathFactory, torn: bytes, cut: int
) -> None:
    """A crash leaves a beginning of a line, zeros, or anything else."""
    journal = FileJournal(tmp_path_factory.mktemp("journal"))
    journal.write(key(1), 1)
    whole = journal.path.read_bytes()
    with journal.path.open("ab") as file:
        file.write(whole.replace(b":1:1", b":8:1")[: min(cut, len(whole) - 2)] + torn)

    journal.write(key(2), 2)

    found = journal.newest()
    assert (found[0], found[-1]) == (Line(key(1), 1), Line(key(2), 2))
    assert all(each.key != key(8) for each in found)


def test_a_full_disk_is_an_error_and_the_next_line_is_whole(tmp_path: Path) -> None:
    """A limit of the process stands for the disk: both cut a write short."""
    journal = FileJournal(tmp_path)
    journal.write(key(1), 1)
    limited = """
import resource, signal, sys
from pathlib import Path
from infrastructure.guards.journal import FileJournal
journal = FileJournal(Path(sys.argv[1]))
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
limit = journal.path.stat().st_size + 20
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
for _ in range(2):
    try:
        journal.write(sys.argv[2], 2)
    except OSError as error:
        print(error.errno)
    else:
        print("written")
"""
    told = subprocess.run(
        [sys.executable, "-c", limited, str(tmp_path), key(2)],
        capture_output=True,
        check=True,
        text=True,
    )

    journal.write(key(3), 3)

    assert "written" not in told.stdout
    assert len(told.stdout.split()) == 2
    assert journal.newest() == (Line(key(1), 1), Line(key(3), 3))


def test_a_folder_in_the_way_or_closed_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    (tmp_path / NAME).mkdir()

    for folder in (tmp_path / "file", tmp_path):
        with pytest.raises(OSError, match=r"director"):
            FileJournal(folder).write(key(), 1)
        with pytest.raises(OSError, match=r"director"):
            FileJournal(folder).check()


def test_a_key_that_is_none_is_refused_before_anything_is_written(
    tmp_path: Path,
) -> None:
    with pytest.raises(ValueError, match="is no key of a purchase"):
        FileJournal(tmp_path).write("goods:\n:1:1", 1)

    assert not (tmp_path / NAME).exists()


def test_a_removed_file_is_made_again(tmp_path: Path) -> None:
    journal = FileJournal(tmp_path / "folder")
    journal.write(key(1), 1)
    journal.path.unlink()
    journal.path.parent.rmdir()

    journal.check()
    journal.write(key(2), 1)

    assert journal.newest() == (Line(key(2), 1),)
    assert journal.path.stat().st_mode & 0o077 == 0


def test_many_write_at_once_and_every_line_is_whole(tmp_path: Path) -> None:
    together = threading.Barrier(8)

    def write(n: int) -> None:
        journal = FileJournal(tmp_path)
        together.wait()
        for purchase in range(1, 6):
            journal.write(key(n), purchase)

    threads = [threading.Thread(target=write, args=(n,)) for n in range(1, 9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    found = FileJournal(tmp_path).newest()
    assert {*found} == {Line(key(n), p) for n in range(1, 9) for p in range(1, 6)}
    assert len(found) == 40


def test_the_line_is_on_the_disk_before_the_call_returns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[int] = []
    real = os.fsync

    def fsync(file: int) -> None:
        synced.append(os.fstat(file).st_size)
        real(file)

    journal = FileJournal(tmp_path)
    journal.check()
    monkeypatch.setattr(os, "fsync", fsync)
    journal.write(key(), 1)

    assert synced == [journal.path.stat().st_size]


def test_a_disk_that_fails_to_keep_it_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fsync(_file: int) -> None:
        raise OSError(5, "Input/output error")

    journal = FileJournal(tmp_path)
    journal.check()
    monkeypatch.setattr(os, "fsync", fsync)

    with pytest.raises(OSError, match="Input/output"):
        journal.write(key(), 1)
