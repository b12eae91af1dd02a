"""`up` without any database: its own lasts, and other commands share it."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.api.command import Command

pytestmark = pytest.mark.database


@pytest.fixture
def data_dir() -> Iterator[Path]:
    """A data folder that the server's account may enter, also when that is nobody."""
    outside = Path(tempfile.mkdtemp(prefix="counterfoil-test-"))
    outside.chmod(0o755)
    try:
        yield outside / "var"
    finally:
        shutil.rmtree(outside)


def test_other_commands_share_the_embedded_database_and_it_lasts(
    data_dir: Path, nowhere: Command
) -> None:
    setting = {"COUNTERFOIL_DATA_DIR": str(data_dir)}
    up = nowhere.start("up", **setting)
    up.wait_for('"event": "worker started"')

    during = nowhere("jobs", **setting)
    stopped = up.stop()
    after = nowhere("migrate", "--check", "--json", **setting)

    assert f"embedded PostgreSQL in {data_dir}" in stopped.out
    assert "NOT durable" not in stopped.out
    assert (stopped.code, during.code) == (0, 0)
    assert (after.code, after.document["pending"]) == (0, [])
    assert not (data_dir / "postgres" / "data" / "postmaster.pid").exists()
