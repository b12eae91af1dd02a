"""The image: non-root, one for every role, nothing fetched that has no hash."""

import re
import tomllib

import pytest

from tests.architecture.tree import PACKAGES
from tests.deploy.dockerfile import ROOT, instructions, of_the_image

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
BINARY = "/opt/counterfoil/bin/counterfoil"


def test_all_stages_stand_on_one_base_that_can_be_named() -> None:
    """Another interpreter than the one that made the environment would not run it."""
    bases = [it.rest.split()[0] for it in instructions() if it.word == "FROM"]
    (base,) = [it.rest for it in instructions() if it.stage == 0]

    assert bases == ["${PYTHON_IMAGE}"] * 2
    name, _, default = base.partition("=")
    assert name == "PYTHON_IMAGE"
    assert "/" not in default, "a registry's name belongs to whoever builds"


def test_the_base_is_of_the_python_that_is_asked_for() -> None:
    (base,) = [it.rest for it in instructions() if it.stage == 0]

    minor = PROJECT["requires-python"].removeprefix(">=")
    assert f":{minor}-" in base


def test_it_runs_as_nobody_in_particular() -> None:
    assert [it.rest for it in of_the_image("USER")] == ["65532:65532"]


@pytest.mark.parametrize("word", ["ENTRYPOINT", "CMD"])
def test_no_shell_stands_between_the_engine_and_the_process(word: str) -> None:
    (instruction,) = of_the_image(word)

    assert instruction.words()


def test_one_binary_is_every_role() -> None:
    (entry,) = of_the_image("ENTRYPOINT")

    assert entry.words() == [BINARY]


def test_the_binary_says_whether_it_is_healthy() -> None:
    (check,) = of_the_image("HEALTHCHECK")
    command = check.rest.partition("CMD ")[2]

    assert command == f'["{BINARY}", "healthcheck"]'


def test_it_is_stopped_politely() -> None:
    assert [it.rest for it in of_the_image("STOPSIGNAL")] == ["SIGTERM"]


def test_whatever_is_installed_has_a_hash() -> None:
    text = " ".join(it.rest for it in instructions() if it.word == "RUN")
    installs = re.findall(r"pip install ([^&]*)", text)

    assert installs
    for arguments in installs:
        is_ours = arguments.split() == ["--no-deps", "--no-build-isolation", "."]
        assert "--require-hashes" in arguments or is_ours, arguments
    for word in ("curl", "wget", "apt-get", "uv ", "git "):
        assert word not in text


def test_nothing_is_added_from_elsewhere() -> None:
    assert not [it for it in instructions() if it.word == "ADD"]
    assert [it.rest.split()[0] for it in of_the_image("COPY")] == ["--from=build"]


def test_all_that_is_needed_is_copied_and_none_of_the_rest_is_sent() -> None:
    copied = {
        word
        for it in instructions()
        if it.word == "COPY" and "--from" not in it.rest
        for word in it.rest.split()[:-1]
    }
    sent = {
        line.removeprefix("!")
        for line in (ROOT / ".dockerignore").read_text("utf-8").splitlines()
        if line.startswith("!")
    }

    assert {*PACKAGES, "migrations", "requirements.txt", "pyproject.toml"} <= copied
    assert copied == sent
    assert all((ROOT / name).exists() for name in copied)


def test_its_version_is_the_products() -> None:
    (version,) = [it.rest for it in of_the_image("ARG") if "VERSION" in it.rest]
    (labels,) = of_the_image("LABEL")
    checks = [it.rest for it in of_the_image("RUN") if "--version" in it.rest]

    assert version == f"VERSION={PROJECT['version']}"
    assert 'org.opencontainers.image.version="${VERSION}"' in labels.rest
    assert 'org.opencontainers.image.revision="${REVISION}"' in labels.rest
    assert checks == ['test "$(counterfoil --version)" = "counterfoil ${VERSION}"']
