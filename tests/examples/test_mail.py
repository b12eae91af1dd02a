"""The example package: built, installed, found, and its own tests run."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.api.command import Command
from tests.fixtures.packages import Packages, install
from tests.fixtures.processes import ROOT

MAIL = ROOT / "examples" / "mail"


@pytest.fixture
def installed(packages: Packages) -> Packages:
    """A folder into which the example was installed, as a wheel that was built."""
    install(MAIL, packages.folder)
    return packages


def test_its_wheel_brings_its_kind(installed: Packages) -> None:
    listed = Command(**installed.settings)("kinds")

    (row,) = (line for line in listed.out.splitlines() if line.startswith("mail "))
    assert " ".join(row.split()) == "mail acme-mail 1.0.0 bulk 5 60 s 60 s"
    assert (listed.code, listed.err) == (0, "")
    assert not (MAIL / "build").exists()


def test_its_own_tests_pass_on_what_was_installed(
    installed: Packages, tmp_path: Path
) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir",
         tmp_path, "-c", os.devnull, MAIL / "tests"],
        env=os.environ | installed.settings | {"PYTHONDONTWRITEBYTECODE": "1"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )  # fmt: skip

    assert done.returncode == 0, done.stdout + done.stderr
    assert "5 passed" in done.stdout
