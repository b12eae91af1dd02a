"""A server where nothing was set up."""

import os
import socket
import stat
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

from infrastructure import embedded
from infrastructure.embedded import lifecycle
from infrastructure.embedded.place import lasting_place
from infrastructure.embedded.postmaster import holder, read_pid_file
from infrastructure.errors import ConfigurationError, DatabaseUnavailableError
from tests.embedded.conftest import User

pytestmark = pytest.mark.database

HASTE = {"fsync": "off"}  # initdb waits for the disk otherwise, and not for us
AWKWARD = [
    pytest.param("with some spaces", id="spaces"),
    pytest.param("d" * 120, id="longer-than-a-socket-path"),
    pytest.param('it\'s "quoted", $HOME `x` \\ ü %2F #1?', id="every-quote"),
]


def ask(uri: str, question: str) -> object:
    with psycopg.connect(uri) as connection:
        row = connection.execute(question.encode()).fetchone()
    assert row
    return row[0]


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_server_is_there_and_durable(data_dir: Path) -> None:
    with embedded.serve(data_dir) as server:
        settings = [
            ask(server.uri, f"SHOW {name}")
            for name in ("fsync", "synchronous_commit", "full_page_writes", "timezone")
        ]

    assert settings == ["on", "on", "on", "UTC"]
    assert server.notices == ()


def test_data_outlive_the_server(used_dir: Path) -> None:
    with embedded.serve(used_dir) as server, psycopg.connect(server.uri) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 7 AS number")

    with embedded.serve(used_dir) as server:
        assert ask(server.uri, "SELECT number FROM kept") == 7


def test_the_last_one_out_stops_the_server(used_dir: Path) -> None:
    with embedded.serve(used_dir) as first:
        record = read_pid_file(first.home / "data")
        with embedded.serve(used_dir) as second:
            assert second.uri == first.uri
        assert ask(first.uri, "SELECT 1") == 1

    assert record
    assert holder(record.pid, first.home / "data") in {"gone", "zombie"}
    assert read_pid_file(first.home / "data") is None


def test_a_server_can_be_kept(used_dir: Path) -> None:
    with embedded.serve(used_dir, keep=True) as server:
        pass

    assert ask(server.uri, "SELECT 1") == 1


def test_two_processes_that_start_at_once_share_one_server(
    used_dir: Path, user: Callable[..., User]
) -> None:
    both = [user(used_dir) for _ in range(2)]
    uris = [one.enter()[0] for one in both]

    started = {ask(uri, "SELECT pg_postmaster_start_time()") for uri in uris}

    assert len(started) == 1
    both[0].leave()
    assert ask(uris[1], "SELECT 1") == 1
    both[1].leave()
    with pytest.raises(psycopg.OperationalError):
        ask(uris[1], "SELECT 1")


def test_only_the_owner_gets_at_data_and_socket(used_dir: Path) -> None:
    with embedded.serve(used_dir) as server:
        closed = [server.home / "data", server.home / "run"]
        files = [
            server.home / name for name in ("gate.lock", "users.lock", "server.log")
        ]
        assert [mode(path) for path in closed] == [0o700, 0o700]
        assert [mode(path) for path in files] == [0o600] * 3
        assert mode(server.home / "run" / ".s.PGSQL.5432") == 0o700
        assert not mode(server.home) & 0o066
        assert not mode(used_dir) & 0o066


def test_no_port_is_opened(used_dir: Path) -> None:
    with embedded.serve(used_dir) as server:
        assert ask(server.uri, "SHOW listen_addresses") == ""
        assert ask(server.uri, "SELECT inet_server_port()") is None


@pytest.mark.parametrize("name", AWKWARD)
def test_any_path_will_do(data_dir: Path, name: str) -> None:
    with embedded.serve(data_dir / name, options=HASTE) as server:
        assert ask(server.uri, "SELECT 1") == 1
        with embedded.serve(data_dir / name) as joined:
            assert joined.uri == server.uri
        run = (server.home / "run").resolve()
        assert mode(run) == 0o700
    assert read_pid_file(server.home / "data") is None


def test_a_short_socket_folder_goes_with_the_server(data_dir: Path) -> None:
    with embedded.serve(data_dir / "with spaces", options=HASTE) as server:
        run = (server.home / "run").readlink()
        assert run.exists()

    assert not run.exists()


def test_a_short_socket_folder_that_others_opened_is_not_used(data_dir: Path) -> None:
    place = lasting_place(data_dir / "with spaces")
    opened = place.sockets()
    opened.chmod(0o777)

    with embedded.serve(data_dir / "with spaces", options=HASTE) as server:
        assert (server.home / "run").readlink() != opened

    opened.rmdir()


def test_the_environment_of_libpq_has_no_say(
    used_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Known fault of the sketch: readiness assumed the default port."""
    for name, value in {
        "PGPORT": "6543",
        "PGHOST": "/nonexistent",
        "PGDATABASE": "nowhere",
        "PGUSER": "nobody-at-all",
        "PGDATA": "/nonexistent",
    }.items():
        monkeypatch.setenv(name, value)

    with embedded.serve(used_dir) as server:
        assert ask(server.uri, "SELECT current_user") == "postgres"


def test_another_server_at_the_noted_address_is_not_joined(data_dir: Path) -> None:
    with (
        embedded.serve(data_dir / "one", options=HASTE) as one,
        embedded.serve(data_dir / "two", options=HASTE) as two,
    ):
        socket_of_one = one.home / "run" / ".s.PGSQL.5432"
        socket_of_two = two.home / "run" / ".s.PGSQL.5432"
        socket_of_two.rename(socket_of_two.with_name("aside"))
        socket_of_two.symlink_to(socket_of_one)
        assert lifecycle.answering(lasting_place(data_dir / "two")) is None
        socket_of_two.unlink()
        socket_of_two.with_name("aside").rename(socket_of_two)
        assert lifecycle.answering(lasting_place(data_dir / "two")) == two.uri


def test_ctrl_c_reaches_us_and_not_the_server(used_dir: Path) -> None:
    with embedded.serve(used_dir) as server:
        record = read_pid_file(server.home / "data")
        assert record
        assert os.getsid(record.pid) != os.getsid(0)


def test_a_cluster_of_another_major_version_is_refused(used_dir: Path) -> None:
    with embedded.serve(used_dir) as server:
        pass
    version = server.home / "data" / "PG_VERSION"
    version.write_text("15\n")

    with (
        pytest.raises(ConfigurationError, match="made by PostgreSQL 15") as refused,
        embedded.serve(used_dir),
    ):
        pass

    assert "COUNTERFOIL_PGBIN" in refused.value.remedy


def test_a_folder_that_is_no_database_is_left_alone(data_dir: Path) -> None:
    (data_dir / "postgres" / "data").mkdir(parents=True)
    (data_dir / "postgres" / "data" / "photo.jpg").touch()

    with (
        pytest.raises(ConfigurationError, match="is not a database"),
        embedded.serve(data_dir),
    ):
        pass

    assert (data_dir / "postgres" / "data" / "photo.jpg").exists()


def test_half_a_cluster_is_never_taken_for_a_whole(data_dir: Path) -> None:
    half = data_dir / "postgres" / "data.new"
    half.mkdir(parents=True)
    (half / "PG_VERSION").write_text("18\n")

    with embedded.serve(data_dir) as server:
        assert ask(server.uri, "SELECT 1") == 1

    assert not half.exists()


def test_a_file_in_the_way_is_told(data_dir: Path) -> None:
    data_dir.touch()

    with (
        pytest.raises(ConfigurationError, match="cannot be used") as refused,
        embedded.serve(data_dir),
    ):
        pass

    assert refused.value.setting == "COUNTERFOIL_DATA_DIR"


def test_what_the_server_says_is_told_when_it_does_not_start(used_dir: Path) -> None:
    with (
        pytest.raises(DatabaseUnavailableError, match="max_connections"),
        embedded.serve(used_dir, options={"max_connections": "many"}),
    ):
        pass

    with embedded.serve(used_dir) as server:
        assert ask(server.uri, "SELECT 1") == 1


@pytest.mark.parametrize("chosen", ["/nonexistent", "/usr/bin"])
def test_binaries_that_are_not_there_are_told(data_dir: Path, chosen: str) -> None:
    with (
        pytest.raises(ConfigurationError, match="COUNTERFOIL_PGBIN"),
        embedded.serve(data_dir, binaries=Path(chosen)),
    ):
        pass


def test_an_ephemeral_server_is_loud_quick_and_gone_afterwards(data_dir: Path) -> None:
    with embedded.serve(data_dir, ephemeral=True) as server:
        settings = [
            ask(server.uri, f"SHOW {name}") for name in ("fsync", "synchronous_commit")
        ]
        assert server.home.exists()

    assert settings == ["off", "off"]
    assert "nothing is durable" in server.notices[0]
    assert not server.home.exists()
    assert not data_dir.exists()


def test_ephemeral_servers_do_not_meet(data_dir: Path) -> None:
    with (
        embedded.serve(data_dir, ephemeral=True) as one,
        embedded.serve(data_dir, ephemeral=True) as other,
    ):
        assert one.uri != other.uri
        assert ask(one.uri, "SELECT 1") == ask(other.uri, "SELECT 1")


def test_a_socket_that_nobody_serves_is_no_server(used_dir: Path) -> None:
    with embedded.serve(used_dir) as server:
        pass
    left = socket.socket(socket.AF_UNIX)
    left.bind(str(server.home / "run" / ".s.PGSQL.5432"))
    left.close()

    with embedded.serve(used_dir) as server:
        assert ask(server.uri, "SELECT 1") == 1
