"""One folder of evidence for the installation: who has another one does not start."""

from pathlib import Path
from uuid import UUID

import pytest

from infrastructure.errors import ConfigurationError
from infrastructure.postgres.database import Database
from infrastructure.reviews.folder import keep_folder, require_folder
from tests.api.command import Command
from tests.fixtures.database import TestDatabase

pytestmark = pytest.mark.database


def mark(folder: Path) -> UUID:
    return UUID((folder / "evidence" / "FOLDER").read_text("ascii").strip())


def test_a_worker_needs_no_folder_before_there_is_evidence(
    database: TestDatabase, tmp_path: Path
) -> None:
    with Database(database.conninfo, pool_size=2) as pool:
        require_folder(pool, tmp_path)

    assert list(tmp_path.iterdir()) == []


def test_the_first_api_marks_the_folder_and_others_need_that_one(
    database: TestDatabase, tmp_path: Path
) -> None:
    ours, other = tmp_path / "ours", tmp_path / "other"
    with Database(database.conninfo, pool_size=2) as pool:
        keep_folder(pool, ours)
        keep_folder(pool, ours)
        require_folder(pool, ours)

        with pytest.raises(ConfigurationError):
            require_folder(pool, other)
        with pytest.raises(ConfigurationError) as refused:
            keep_folder(pool, other)

    assert refused.value.setting == "COUNTERFOIL_DATA_DIR"
    assert "give every API and worker the same one" in refused.value.remedy
    assert f"write the line {mark(ours)} into" in refused.value.remedy
    assert not other.exists()


def test_hosts_that_share_the_folder_have_data_directories_of_their_own(
    database: TestDatabase, tmp_path: Path
) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    with Database(database.conninfo, pool_size=2) as pool:
        for host in ("host-1", "host-2"):
            (tmp_path / host).mkdir()
            (tmp_path / host / "evidence").symlink_to(shared)
            keep_folder(pool, tmp_path / host)

    assert [file.name for file in shared.iterdir()] == ["FOLDER"]


def test_a_folder_that_was_lost_has_a_successor(
    database: TestDatabase, tmp_path: Path
) -> None:
    with Database(database.conninfo, pool_size=2) as pool:
        keep_folder(pool, tmp_path / "lost")
        known = mark(tmp_path / "lost")
        (tmp_path / "new" / "evidence").mkdir(parents=True)
        (tmp_path / "new" / "evidence" / "FOLDER").write_text(f"{known}\n")

        keep_folder(pool, tmp_path / "new")


@pytest.mark.parametrize(
    "held", ["", "not a mark", "0197d3a0-0000-7000-8000-000000000000 too"]
)
def test_a_mark_that_is_none_is_told(
    database: TestDatabase, tmp_path: Path, held: str
) -> None:
    (tmp_path / "evidence").mkdir()
    (tmp_path / "evidence" / "FOLDER").write_text(held)

    with (
        Database(database.conninfo, pool_size=2) as pool,
        pytest.raises(ConfigurationError, match="holds no mark"),
    ):
        keep_folder(pool, tmp_path)


def test_a_folder_that_cannot_be_made_is_told(
    database: TestDatabase, tmp_path: Path
) -> None:
    (tmp_path / "evidence").write_text("in the way")

    with (
        Database(database.conninfo, pool_size=2) as pool,
        pytest.raises(ConfigurationError, match="name a folder in which"),
    ):
        keep_folder(pool, tmp_path)


def test_processes_with_another_folder_do_not_start(
    database: TestDatabase, tmp_path: Path
) -> None:
    with Database(database.conninfo, pool_size=2) as pool:
        keep_folder(pool, tmp_path / "ours")
    command = Command(
        COUNTERFOIL_DATABASE_URL=database.url,
        COUNTERFOIL_DATA_DIR=str(tmp_path / "other"),
        COUNTERFOIL_HTTP_ADDR="127.0.0.1:0",
    )

    for role in ("worker", "api"):
        told = command(role).complaint()
        assert told.startswith("COUNTERFOIL_DATA_DIR: ")
        assert "is not the folder in which the evidence" in told
