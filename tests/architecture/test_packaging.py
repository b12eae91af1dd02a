"""What is installed under which name, and what a wheel carries."""

import os
import shutil
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path
from zipfile import ZipFile

from tests.architecture.tree import PACKAGES, ROOT, files, modules, name

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
BUILD = "import build_backend, sys; build_backend.build_wheel(sys.argv[1])"


def test_no_other_distribution_owns_our_top_level_names() -> None:
    """Plain names are ours only while nothing else installs them.

    `tests` and `bench` are not installed, but a stranger's would hide ours.
    """
    owners = packages_distributions()

    foreign = {
        package: set(owners.get(package, [])) - {"counterfoil"}
        for package in (*PACKAGES, "tests", "bench")
    }

    assert {package: by for package, by in foreign.items() if by} == {}


def test_every_top_level_package_is_listed() -> None:
    """import-linter cannot be exhaustive over flat roots, so this is."""
    roots = {
        file.parent.name
        for file in modules(*{f.relative_to(ROOT).parts[0] for f in files()})
        if file.name == "__init__.py" and file.parent.parent == ROOT
    }
    lists = {
        "uv_build": PROJECT["tool"]["uv"]["build-backend"]["module-name"],
        "import-linter": PROJECT["tool"]["importlinter"]["root_packages"],
        "pyright": PROJECT["tool"]["pyright"]["include"],
        "mypy": PROJECT["tool"]["mypy"]["files"],
    }

    assert roots - {"bench", "tests"} == set(PACKAGES)
    for tool, listed in lists.items():
        assert set(PACKAGES) <= set(listed), tool


def test_a_wheel_carries_the_packages_and_the_migrations(tmp_path: Path) -> None:
    copy = tmp_path / "copy of the project"
    for file in files():
        if file.relative_to(ROOT).parts[0] in {*PACKAGES, "deploy", "migrations"}:
            target = copy / file.relative_to(ROOT)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, target)
    for needed in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / needed, copy)

    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    subprocess.run(
        [sys.executable, "-c", BUILD, str(tmp_path)],
        cwd=copy,
        env={"PATH": path, "PYTHONPATH": "deploy"},
        check=True,
        capture_output=True,
    )

    (wheel,) = tmp_path.glob("counterfoil-*.whl")
    names = [entry for entry in ZipFile(wheel).namelist() if not entry.endswith("/")]
    roots = {entry.split("/")[0] for entry in names}
    migrations = {Path(entry).name for entry in names if entry.endswith(".sql")}
    assert {root for root in roots if not root.endswith(".dist-info")} == set(PACKAGES)
    assert migrations == {f.name for f in (ROOT / "migrations").glob("*.sql")}
    assert all(
        entry.startswith("infrastructure/postgres/migrations/")
        for entry in names
        if entry.endswith(".sql")
    )
    assert not (copy / "infrastructure/postgres/migrations").exists()
    typed = {entry.split("/")[0] for entry in names if entry.endswith("/py.typed")}
    assert typed == set(PACKAGES)  # or a user's type checker sees none of our types


def test_every_requirement_is_pinned_by_hash() -> None:
    for requirements in ("requirements.txt", "requirements-dev.txt"):
        text = (ROOT / requirements).read_text(encoding="utf-8")
        entries = [
            entry
            for entry in text.replace("\\\n", " ").splitlines()
            if entry and not entry.lstrip().startswith("#")
        ]

        assert entries
        assert [e for e in entries if "==" not in e or "--hash=sha256:" not in e] == []


def test_the_development_requirements_contain_the_runtime() -> None:
    """So the tests run on exactly what is shipped."""

    def pins(requirements: str) -> set[str]:
        text = (ROOT / requirements).read_text(encoding="utf-8")
        return {line.split()[0] for line in text.splitlines() if line[:1].isalpha()}

    assert pins("requirements.txt") <= pins("requirements-dev.txt")


def test_no_lock_file_holds_addresses() -> None:
    assert [name(file) for file in files() if file.name == "uv.lock"] == []
