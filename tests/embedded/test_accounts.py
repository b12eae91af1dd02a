"""Root and others: who runs the server, and where it may go."""

import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from infrastructure import embedded
from infrastructure.embedded import place
from infrastructure.embedded.account import Account, account_for
from infrastructure.embedded.binaries import find_binaries, usable_by
from infrastructure.errors import ConfigurationError

pytestmark = pytest.mark.database

ROOT = Path(__file__).resolve().parents[2]
HASTE = {"fsync": "off"}  # initdb waits for the disk otherwise, and not for us
OTHER = 1  # daemon: an account on every system, and never the one that runs tests

# Everything is imported before the account changes: an interpreter in root's home
# cannot be read afterwards.
AS_ANOTHER_USER = """
import os, sys
from pathlib import Path
import psycopg, encodings.ascii
from infrastructure import embedded
os.setgroups([]); os.setgid(int(sys.argv[2])); os.setuid(int(sys.argv[2]))
place, binaries = Path(sys.argv[1]), Path(sys.argv[3])
with embedded.serve(place, binaries=binaries, options={"fsync": "off"}) as server:
    with psycopg.connect(server.uri) as connection:
        answer = connection.execute("SELECT 1").fetchone()[0]
    print(answer, (server.home / "data").stat().st_uid)
"""


def require_root() -> None:
    """Tests about root say so: `make test-crash` and CI run as root."""
    assert os.geteuid() == 0, "this test must run as root: it tells what root gets"


@pytest.fixture
def closed(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder like root's home, and a refuge of this test's own."""
    refuge = data_dir.parent / "refuge"
    monkeypatch.setattr(place, "REFUGES", (refuge,))
    home = data_dir.parent / "closed"
    home.mkdir(mode=0o700)
    yield home
    home.chmod(0o755)


@pytest.mark.crash
def test_for_root_the_server_runs_without_rights(data_dir: Path) -> None:
    require_root()

    with embedded.serve(data_dir, options=HASTE) as server:
        owner = (server.home / "data").stat().st_uid
        with psycopg.connect(server.uri) as connection:
            backend = Path("/proc", str(connection.info.backend_pid))
            assert backend.stat().st_uid == owner

    assert owner == account_for(data_dir / "nothing").uid != 0


@pytest.mark.crash
def test_below_roots_home_the_data_move_to_where_the_server_may_go(
    closed: Path,
) -> None:
    require_root()

    with embedded.serve(closed / "var", options=HASTE) as server:
        assert server.home.is_relative_to(place.REFUGES[0])
        assert str(server.home) in server.notices[0]
        assert (closed / "var" / "postgres").resolve() == server.home
        with embedded.serve(closed / "var", options=HASTE) as joined:
            assert joined == server
    with embedded.serve(closed / "var", options=HASTE) as again:
        assert again.home == server.home

    assert stat.S_IMODE((server.home / "data").stat().st_mode) == 0o700


@pytest.mark.crash
def test_a_removed_data_folder_means_a_new_database(closed: Path) -> None:
    require_root()
    with embedded.serve(closed / "var", options=HASTE) as first:
        pass

    shutil.rmtree(closed / "var")

    with embedded.serve(closed / "var", options=HASTE) as second:
        assert second.home != first.home


@pytest.mark.crash
def test_binaries_below_roots_home_are_copied_to_where_they_run(closed: Path) -> None:
    require_root()
    package = find_binaries(None).folder.parents[1]
    for part in (package, package.with_name(f"{package.name}.libs")):
        shutil.copytree(part, closed / part.name)
    chosen = closed / package.name / "pginstall" / "bin"
    account = account_for(Path("/nonexistent"))

    binaries = usable_by(account, find_binaries(chosen))

    assert binaries.folder.is_relative_to(place.REFUGES[0])
    assert usable_by(account, find_binaries(chosen)) == binaries
    with (
        embedded.serve(closed / "var", binaries=chosen, options=HASTE) as server,
        psycopg.connect(server.uri),
    ):
        pass


@pytest.mark.crash
def test_a_strict_umask_locks_nobody_out(closed: Path) -> None:
    require_root()
    package = find_binaries(None).folder.parents[1]
    before = os.umask(0o077)
    try:
        for part in (package, package.with_name(f"{package.name}.libs")):
            shutil.copytree(part, closed / part.name, copy_function=shutil.copyfile)
        chosen = closed / package.name / "pginstall" / "bin"
        for tool in ("postgres", "initdb"):
            (chosen / tool).chmod(0o700)
        with (
            embedded.serve(closed / "var", binaries=chosen, options=HASTE) as server,
            psycopg.connect(server.uri),
        ):
            pass
    finally:
        os.umask(before)


@pytest.mark.crash
def test_without_any_refuge_the_remedy_is_named(
    closed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    require_root()
    monkeypatch.setattr(place, "REFUGES", (closed / "refuge",))

    with (
        pytest.raises(ConfigurationError, match="may not enter") as refused,
        embedded.serve(closed / "var", options=HASTE),
    ):
        pass

    assert refused.value.setting == "COUNTERFOIL_DATA_DIR"


@pytest.mark.crash
def test_another_user_has_a_server_of_its_own(data_dir: Path, closed: Path) -> None:
    """And root, who comes later, runs it under the account that owns it."""
    require_root()
    del closed  # its refuge takes the binaries, which may lie in root's home
    binaries = usable_by(
        Account(OTHER, OTHER, "daemon", switched=True), find_binaries(None)
    )
    data_dir.mkdir()
    os.chown(data_dir, OTHER, OTHER)
    command = [
        sys.executable,
        "-c",
        AS_ANOTHER_USER,
        str(data_dir),
        str(OTHER),
        str(binaries.folder),
    ]

    def run() -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=60
        )

    first = run()
    with (
        embedded.serve(data_dir, options=HASTE) as server,
        psycopg.connect(server.uri) as connection,
    ):
        connection.execute("SELECT 1")
    third = run()

    assert (first.stdout, first.stderr) == (f"1 {OTHER}\n", "")
    assert (third.stdout, third.stderr) == (f"1 {OTHER}\n", "")


@pytest.mark.crash
def test_a_database_of_somebody_else_is_refused_in_a_sentence(data_dir: Path) -> None:
    require_root()
    with embedded.serve(data_dir, options=HASTE):
        pass
    command = [
        sys.executable,
        "-c",
        AS_ANOTHER_USER,
        str(data_dir),
        str(OTHER),
        "/nonexistent",
    ]

    refused = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=60
    )

    assert "belongs to user nobody" in refused.stderr
