"""What must not be written anywhere in the repository.

The patterns put one character of each word in brackets, so that this file does not
hold what it forbids.
"""

import re

from tests.architecture.tree import name, text_files

REGISTRY_HOST = re.compile(
    r"pypi[.]org|pythonhosted[.]org|npmjs[.]org|npmjs[.]com|yarnpkg[.]com"
    r"|(?:deb|security|ftp)[.]debian[.]org|archive[.]ubuntu[.]com"
    r"|crates[.]io|proxy[.]golang[.]org|anaconda[.]org"
    r"|docker[.]io/|(?:^|\W)(?:ghcr|quay)[.]io/",
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
