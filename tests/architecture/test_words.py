"""What must not be written anywhere in the repository.

The patterns are made of parts, so that this file does not hold what it forbids.
"""

import re

from tests.architecture.tree import name, text_files

# Names before the last dot, so that no address stands here.
_REGISTRIES = (
    "pypi", "pythonhosted", "npmjs", "yarnpkg",
    "debian", "ubuntu", "golang", "anaconda",
)  # fmt: skip
REGISTRY_HOST = re.compile(
    rf"(?:{'|'.join(_REGISTRIES)})[.](?:org|com)\b"
    r"|\b(?:crates|docker|ghcr|quay)[.]io\b"
    r"|--(?:extra-)?index-url\b",
    re.IGNORECASE,
)
MACHINE_PATH = re.compile(
    r"(?<![\w.~-])/(?:[w]ork|[f]arm|[r]oot|[U]sers)/\w|/[h]ome/\w"
    r"|/tmp/[b]rief|\.\./[s]hared\b"
)
PRIVATE_KEY = re.compile(r"-----[B]EGIN [A-Z ]*PRIVATE KEY-----")


def written(pattern: re.Pattern[str]) -> dict[str, str]:
    """Return place and text of every occurrence."""
    return {
        f"{name(file)}:{number}": line.strip()[:120]
        for file, text in text_files()
        if pattern.search(text)
        for number, line in enumerate(text.splitlines(), start=1)
        if pattern.search(line)
    }


def test_no_file_names_a_package_registry() -> None:
    """Where packages come from is the installer's configuration, not ours."""
    assert written(REGISTRY_HOST) == {}


def test_no_file_holds_a_path_of_somebodys_machine() -> None:
    assert written(MACHINE_PATH) == {}


def test_no_file_holds_a_private_key() -> None:
    assert written(PRIVATE_KEY) == {}


def test_no_lock_file_holds_an_address() -> None:
    """Name and hash are enough; npm's `funding` members are to be taken out."""
    locks = {
        f"{name(file)}:{number}"
        for file, text in text_files()
        if file.name.startswith("requirements") or "lock" in file.stem
        for number, line in enumerate(text.splitlines(), start=1)
        if file.suffix in {".txt", ".json"} and "://" in line
    }

    assert locks == set()
