"""What remains when clients or servers are killed, and who is never signalled."""

import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from infrastructure import embedded
from infrastructure.embedded import lifecycle
from infrastructure.embedded.place import lasting_place
from infrastructure.embedded.postmaster import (
    Holder,
    PidFile,
    holder_by_proc,
    holder_by_ps,
    read_pid_file,
)
from tests.embedded.conftest import User

pytestmark = [pytest.mark.database, pytest.mark.crash]


def ask(uri: str) -> object:
    with psycopg.connect(uri) as connection:
        row = connection.execute("SELECT count(*) FROM kept").fetchone()
    assert row
    return row[0]


def record_of(home: Path) -> PidFile:
    record = read_pid_file(home / "data")
    assert record
    return record


def keep_a_row(uri: str) -> None:
    with psycopg.connect(uri) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 1")


@pytest.fixture
def stranger() -> Iterator[subprocess.Popen[bytes]]:
    """A live process that is none of ours, and would die of any signal."""
    process = subprocess.Popen(["/bin/sleep", "600"])
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def test_a_killed_server_comes_back_with_what_was_committed(
    used_dir: Path, user: Callable[..., User]
) -> None:
    uri, home = user(used_dir).enter()
    keep_a_row(uri)
    os.kill(record_of(home).pid, signal.SIGKILL)

    with embedded.serve(used_dir) as server:
        assert ask(server.uri) == 1


def test_a_killed_client_does_not_take_the_server_from_the_other(
    used_dir: Path, user: Callable[..., User]
) -> None:
    one, other = user(used_dir), user(used_dir)
    uri, home = one.enter()
    other.enter()
    keep_a_row(uri)

    one.kill()

    assert ask(uri) == 1
    other.leave()
    assert read_pid_file(home / "data") is None


def test_a_server_whose_clients_were_all_killed_is_joined_and_then_stopped(
    used_dir: Path, user: Callable[..., User]
) -> None:
    killed = user(used_dir)
    uri, home = killed.enter()
    keep_a_row(uri)
    pid = record_of(home).pid
    killed.kill()

    with embedded.serve(used_dir) as server:
        assert record_of(home).pid == pid
        assert ask(server.uri) == 1

    assert read_pid_file(home / "data") is None


def test_client_and_server_killed_at_once_leave_the_data(
    used_dir: Path, user: Callable[..., User]
) -> None:
    killed = user(used_dir)
    uri, home = killed.enter()
    keep_a_row(uri)
    os.kill(record_of(home).pid, signal.SIGKILL)
    killed.kill()

    both = [user(used_dir) for _ in range(2)]

    assert [ask(one.enter()[0]) for one in both] == [1, 1]


def test_an_ephemeral_server_of_a_killed_process_is_removed_by_the_next(
    data_dir: Path, user: Callable[..., User]
) -> None:
    killed = user(data_dir, "ephemeral")
    uri, home = killed.enter()
    killed.kill()
    assert home.exists()

    with embedded.serve(data_dir, ephemeral=True):
        pass

    assert not home.exists()
    with pytest.raises(psycopg.OperationalError):
        ask(uri)


def test_a_used_ephemeral_server_is_not_removed_by_the_next(
    data_dir: Path, user: Callable[..., User]
) -> None:
    uri, _ = user(data_dir, "ephemeral").enter()
    keep_a_row(uri)

    with embedded.serve(data_dir, ephemeral=True):
        pass

    assert ask(uri) == 1


def test_a_stale_number_that_a_stranger_has_now_is_not_signalled(
    used_dir: Path, stranger: subprocess.Popen[bytes]
) -> None:
    with embedded.serve(used_dir) as server:
        keep_a_row(server.uri)
        written = (server.home / "data" / "postmaster.pid").read_text()
    lines = [str(stranger.pid), *written.splitlines()[1:]]
    (server.home / "data" / "postmaster.pid").write_text("\n".join(lines) + "\n")
    (server.home / "run" / ".s.PGSQL.5432.lock").write_text("\n".join(lines) + "\n")

    with embedded.serve(used_dir) as server:
        assert ask(server.uri) == 1

    assert stranger.poll() is None


def test_a_number_that_became_a_strangers_is_not_signalled_at_the_end(
    used_dir: Path, stranger: subprocess.Popen[bytes]
) -> None:
    with embedded.serve(used_dir) as server:
        pid_file = server.home / "data" / "postmaster.pid"
        ours = pid_file.read_text()
        pid_file.write_text(
            "\n".join([str(stranger.pid), *ours.splitlines()[1:]]) + "\n"
        )
    assert stranger.poll() is None

    pid_file.write_text(ours)
    assert lifecycle.stop(lasting_place(used_dir))


def test_a_zombies_number_does_not_stop_a_start(used_dir: Path) -> None:
    with embedded.serve(used_dir) as server:
        written = (server.home / "data" / "postmaster.pid").read_text()
    zombie = subprocess.Popen(["/bin/true"], stdout=subprocess.PIPE)
    assert zombie.stdout
    zombie.stdout.read()
    os.waitid(os.P_PID, zombie.pid, os.WEXITED | os.WNOWAIT)
    lines = [str(zombie.pid), *written.splitlines()[1:]]
    (server.home / "data" / "postmaster.pid").write_text("\n".join(lines) + "\n")

    with embedded.serve(used_dir) as server, psycopg.connect(server.uri):
        pass

    zombie.communicate()


@pytest.mark.parametrize("look", [holder_by_proc, holder_by_ps])
def test_processes_are_told_apart(
    data_dir: Path,
    stranger: subprocess.Popen[bytes],
    look: Callable[[int, Path], Holder],
) -> None:
    with (
        embedded.serve(data_dir / "one", options={"fsync": "off"}) as one,
        embedded.serve(data_dir / "other", options={"fsync": "off"}) as other,
        psycopg.connect(one.uri) as connection,
    ):
        pid = record_of(one.home).pid
        told = {
            "server": look(pid, one.home / "data"),
            "other server": look(pid, other.home / "data"),
            "its child": look(connection.info.backend_pid, one.home / "data"),
            "stranger": look(stranger.pid, one.home / "data"),
            "nobody": look(2**22 + 1, one.home / "data"),
        }

    assert told == {
        "server": "ours",
        "other server": "foreign",
        "its child": "foreign",
        "stranger": "foreign",
        "nobody": "gone",
    }


def test_a_start_waits_for_the_children_of_a_killed_server(
    used_dir: Path, user: Callable[..., User]
) -> None:
    """They hold the shared memory, which guards the data."""
    with embedded.serve(used_dir) as server, psycopg.connect(server.uri) as connection:
        child = connection.info.backend_pid
        os.kill(child, signal.SIGSTOP)
        os.kill(record_of(server.home).pid, signal.SIGKILL)
        log = server.home / "server.log"
        starter = user(used_dir)
        try:
            while "is still in use" not in log.read_text():
                assert starter.process.poll() is None
        finally:
            os.kill(child, signal.SIGCONT)

        starter.enter()
