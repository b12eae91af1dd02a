"""Every dependency says what it is for, and nothing else is on the list."""

import re
import tomllib

from tests.architecture.tree import ROOT

ROW = re.compile(r"^\| `([a-z0-9-]+)`", re.MULTILINE)
NAME = re.compile(r"^[A-Za-z0-9-]+")


def declared() -> set[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    wanted: list[str] = list(project["project"]["dependencies"])
    for group in project["dependency-groups"].values():
        wanted += group
    return {found.group() for each in wanted if (found := NAME.match(each))}


def test_every_dependency_has_its_line_in_the_documentation() -> None:
    documented = ROW.findall(
        (ROOT / "docs/dependencies.md").read_text(encoding="utf-8")
    )

    assert sorted(documented) == sorted(declared())
