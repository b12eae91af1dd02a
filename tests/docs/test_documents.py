"""What the documents tell is run: every command, statement and program, in order."""

import getpass
import os
import runpy
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from infrastructure.settings import Settings
from tests.docs.document import RUN, SHOWN, blocks
from tests.docs.stage import ROOT, Stage
from tests.docs.tools import SITE, install

if TYPE_CHECKING:
    from tests.fixtures.database import TestDatabase

pytestmark = pytest.mark.database

TAUGHT = (
    "settle",
    "settle-goods",
    "enqueue",
    "job-kinds",
    "panel",
    "operate",
    "access",
    "maintenance",
    "incidents",
    "projections",
    "read-models",
    "positions",
    "providers",
    "restore",
    "callbacks",
    "api-tokens",
    "queues",
    "api",
    "idempotency",
    "README",
)
"""Documents that teach by tasks, each a world of its own."""

SETTINGS = (
    "DATABASE_URL",
    "REMNAWAVE_URL",
    "REMNAWAVE_TOKEN",
    "OPERATOR",
    "HTTP_ADDR",
    "DATA_ENCRYPTION_KEYS",
)
"""What documents export."""

EMBEDDED = "operate"
"""It tells of the database that comes along; the others are given one."""


def page(name: str) -> Path:
    """Return where a document is."""
    return ROOT / ("README.md" if name == "README" else f"docs/{name}.md")


@pytest.fixture
def folder() -> Iterator[Path]:
    # As root the embedded server runs as `nobody`, who must get here.
    made = Path(tempfile.mkdtemp(prefix="counterfoil-docs-"))
    made.chmod(0o755)
    yield made
    shutil.rmtree(made)


@pytest.fixture
def terminal(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let commands find the product, and nothing of this machine's settings."""
    for name in list(os.environ):
        if name.startswith("COUNTERFOIL_"):
            monkeypatch.delenv(name)
    tools = install(folder / "tools")
    site = folder / SITE
    site.mkdir()
    path = f"{tools}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    monkeypatch.setenv("PATH", path)
    monkeypatch.setenv("PYTHONPATH", f"{ROOT}{os.pathsep}{site}")
    monkeypatch.setattr(getpass, "getuser", lambda: "anna")
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(site)
    monkeypatch.syspath_prepend(folder)


@pytest.mark.long
@pytest.mark.usefixtures("terminal")
@pytest.mark.parametrize("name", TAUGHT)
def test_a_document_shows_what_really_happens(
    name: str,
    folder: Path,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    database: TestDatabase | None = None
    # Set in any case, so that what the document exports ends with it.
    for setting in SETTINGS:
        monkeypatch.setenv(f"COUNTERFOIL_{setting}", "")
    for other in ("API", "TOKEN"):
        monkeypatch.setenv(other, "")
    if name != EMBEDDED:
        database = request.getfixturevalue("database")
        monkeypatch.setenv("COUNTERFOIL_DATABASE_URL", database.url)
    stage = Stage(folder, database, name.replace("-", "_"))
    try:
        for block in blocks(page(name)):
            if block.is_run:
                try:
                    stage.run(block)
                except Exception as error:
                    error.add_note(f"docs/{name}.md:{block.line}")
                    raise
    finally:
        stage.close()


@pytest.mark.parametrize("name", TAUGHT)
def test_a_block_is_run_or_says_why_not(name: str) -> None:
    found = blocks(page(name))

    assert found
    for block in found:
        assert block.language in RUN | SHOWN, f"docs/{name}.md:{block.line}"
        assert block.said.get("not run", "because") != "", block.line


def test_a_package_that_is_shown_is_the_one_in_the_examples() -> None:
    shown = [it for it in blocks(ROOT / "docs" / "job-kinds.md") if it.file]

    assert shown
    for block in shown:
        assert block.file is not None
        example = ROOT / "examples" / block.file
        assert block.text == example.read_text("utf-8")


def test_the_page_of_settings_is_what_the_struct_declares() -> None:
    """`make configuration` writes it."""
    made = runpy.run_path(str(ROOT / "scripts" / "configuration.py"))
    text = (ROOT / "docs" / "configuration.md").read_text("utf-8")

    assert text == made["page"]()
    for field in Settings.__struct_fields__:
        assert f"`COUNTERFOIL_{field.upper()}`" in text
