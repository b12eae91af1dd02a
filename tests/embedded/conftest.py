"""A folder that the server's account may enter, and processes that use a server."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from infrastructure.embedded import lifecycle
from infrastructure.embedded.binaries import find_binaries, usable_by
from infrastructure.embedded.cluster import create_cluster
from infrastructure.embedded.place import lasting_place

ROOT = Path(__file__).resolve().parents[2]
USES_A_SERVER = """
import sys
from pathlib import Path
from infrastructure import embedded
with embedded.serve(Path(sys.argv[1]), ephemeral=sys.argv[2] == "ephemeral") as server:
    print(server.uri, server.home, sep="\\t", flush=True)
    sys.stdin.read()
"""


class User:
    """A process inside `serve`, until it is told to leave or is killed."""

    def __init__(self, data_dir: Path, how: str = "lasting") -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", USES_A_SERVER, str(data_dir), how],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )

    def enter(self) -> tuple[str, Path]:
        """Return the server's address and folder once it is inside."""
        assert self.process.stdout
        uri, _, home = self.process.stdout.readline().rstrip("\n").partition("\t")
        assert uri, "the process did not get a server"
        return uri, Path(home)

    def leave(self) -> None:
        """Let it end by itself."""
        self.process.communicate(timeout=60)
        assert self.process.returncode == 0

    def kill(self) -> None:
        """End it with SIGKILL, if it lives."""
        self.process.kill()
        self.process.communicate(timeout=60)


@pytest.fixture
def data_dir() -> Iterator[Path]:
    """A folder like `var`, not there yet; whatever runs in it is stopped at the end."""
    outside = Path(tempfile.mkdtemp(prefix="counterfoil-test-"))
    outside.chmod(0o755)
    data_dir = outside / "var"
    try:
        yield data_dir
    finally:
        for home in outside.rglob("postgres"):
            if (home / "data").exists():
                place = lasting_place(home.parent)
                lifecycle.stop(place)
                place.give_sockets_back()
        shutil.rmtree(outside)


@pytest.fixture(scope="session")
def finished_cluster() -> Iterator[Path]:
    """A cluster as initdb leaves it, made once, because that is what takes time."""
    with tempfile.TemporaryDirectory(prefix="counterfoil-test-") as outside:
        Path(outside).chmod(0o755)
        place = lasting_place(Path(outside) / "var")
        binaries = usable_by(place.account, find_binaries(None))
        create_cluster(place, binaries, durable=False)
        yield place.data


@pytest.fixture
def used_dir(data_dir: Path, finished_cluster: Path) -> Path:
    """A data folder with a cluster, no server yet."""
    place = lasting_place(data_dir)
    shutil.copytree(finished_cluster, place.data)
    for path in (place.data, *place.data.rglob("*")):
        os.chown(path, place.account.uid, place.account.gid)
    return data_dir


@pytest.fixture
def user() -> Iterator[Callable[..., User]]:
    """Starts processes that use a server; what is left of them is killed."""
    started: list[User] = []

    def start(data_dir: Path, how: str = "lasting") -> User:
        started.append(User(data_dir, how))
        return started[-1]

    try:
        yield start
    finally:
        for one in started:
            one.kill()
