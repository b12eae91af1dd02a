"""The compose file: health-gated, confined, and no secret in its environment."""

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from api.healthcheck import SETTINGS
from infrastructure.settings import Settings
from tests.deploy.dockerfile import ROOT

DEPLOY = ROOT / "deploy"
COMPOSE: dict[str, Any] = msgspec.yaml.decode((DEPLOY / "compose.yaml").read_bytes())
TRIAL: dict[str, Any] = msgspec.yaml.decode(
    (DEPLOY / "trial" / "compose.yaml").read_bytes()
)
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
ONCE = {"migrate"}
"""Services that run to their end."""
OURS = sorted(SERVICES.keys() - {"postgres"})
PUBLISHED = {"api": ["127.0.0.1:${COUNTERFOIL_PORT:-8080}:8080"]}
"""Which ports are reached from outside."""

every_service = pytest.mark.parametrize("name", sorted(SERVICES))
every_one_of_ours = pytest.mark.parametrize("name", OURS)


def seconds(told: str) -> int:
    """Return a duration such as 45s."""
    return int(told.removesuffix("s"))


@every_service
def test_a_service_is_confined(name: str) -> None:
    service = SERVICES[name]

    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert "cap_add" not in service
    assert "privileged" not in service
    assert service["security_opt"] == ["no-new-privileges:true"]
    user, _, group = service["user"].partition(":")
    assert int(user) > 0
    assert int(group) > 0


@every_service
def test_a_service_takes_no_more_than_its_share(name: str) -> None:
    service = SERVICES[name]

    assert {"mem_limit", "cpus", "pids_limit"} <= service.keys()
    assert all("size=" in mount for mount in service["tmpfs"])
    assert service["logging"]["options"].keys() == {"max-size", "max-file"}


@every_service
def test_what_needs_another_waits_until_that_is_healthy(name: str) -> None:
    waits = SERVICES[name].get("depends_on", {})

    assert name == "postgres" or waits
    for other, waited in waits.items():
        wanted = (
            "service_completed_successfully" if other in ONCE else "service_healthy"
        )
        assert waited["condition"] == wanted, other


@every_service
def test_a_service_says_whether_it_is_healthy(name: str) -> None:
    service = SERVICES[name]

    if name in ONCE:
        assert service["healthcheck"] == {"disable": True}
    elif name in OURS:
        # By the image's own check, of the listener that its role has.
        assert "healthcheck" not in service
        assert len(service["environment"].keys() & set(SETTINGS)) == 1
    else:
        assert service["healthcheck"]["test"][0] == "CMD"


def test_what_runs_once_is_not_started_again() -> None:
    for name, service in SERVICES.items():
        assert service["restart"] == ("no" if name in ONCE else "unless-stopped")


def test_every_role_is_the_same_image() -> None:
    assert len({SERVICES[name]["image"] for name in OURS}) == 1


@every_service
def test_no_image_names_a_registry(name: str) -> None:
    assert "/" not in SERVICES[name]["image"]


def test_a_worker_may_end_what_it_is_buying() -> None:
    """docs/configuration.md: 105 s where goods are bought; then it settles the rest."""
    assert seconds(SERVICES["worker"]["stop_grace_period"]) >= 105 + 10


@every_service
def test_a_service_is_given_time_to_stop(name: str) -> None:
    assert seconds(SERVICES[name]["stop_grace_period"]) >= 45


def test_only_what_has_to_is_reached_from_outside() -> None:
    published = {
        name: service["ports"]
        for name, service in SERVICES.items()
        if "ports" in service
    }

    assert published == PUBLISHED
    assert COMPOSE["networks"]["inside"] == {"internal": True}
    assert SERVICES["postgres"]["networks"] == ["inside"]


@every_one_of_ours
def test_every_setting_is_one_that_exists(name: str) -> None:
    known = {f"COUNTERFOIL_{field.upper()}" for field in Settings.__struct_fields__}

    assert {it.removesuffix("_FILE") for it in SERVICES[name]["environment"]} <= known


@every_one_of_ours
def test_migrations_and_processes_have_the_same_database(name: str) -> None:
    variable = "COUNTERFOIL_DATABASE_URL_FILE"

    assert SERVICES[name]["environment"][variable] == "/run/secrets/database_url"


def secrets_named(service: dict[str, Any]) -> Iterator[str]:
    """Yield what the environment names below /run/secrets."""
    for value in service["environment"].values():
        if value.startswith("/run/secrets/"):
            yield value.removeprefix("/run/secrets/")


def test_api_and_workers_share_the_folder_of_evidence() -> None:
    """docs/reviews.md: whoever has another one does not start."""
    for name in ("api", "worker"):
        service = SERVICES[name]
        folder = service["environment"]["COUNTERFOIL_DATA_DIR"]

        assert service["volumes"] == [f"data:{folder}"], name


def test_the_operator_token_is_the_apis_alone() -> None:
    holders = {
        name for name in SERVICES if "operator_token" in SERVICES[name]["secrets"]
    }

    assert holders == {"api"}


@every_service
def test_a_secret_is_a_file(name: str) -> None:
    service = SERVICES[name]
    told = " ".join(map(str, service["environment"].values()))

    assert set(secrets_named(service)) == set(service["secrets"])
    assert "postgresql://" not in told
    for variable in service["environment"]:
        is_secret = variable.endswith(("PASSWORD", "TOKEN", "KEYS", "DATABASE_URL"))
        assert not is_secret, variable


def made_in(folder: Path) -> dict[str, str]:
    """Return the secrets that the script makes there."""
    subprocess.run([DEPLOY / "secrets.sh", folder], check=True)
    return {file.name: file.read_text("utf-8") for file in folder.iterdir()}


def test_secrets_are_made_once_and_for_nobody_else(tmp_path: Path) -> None:
    folder = tmp_path / "secrets"

    made = made_in(folder)

    assert made.keys() == COMPOSE["secrets"].keys()
    assert made_in(folder) == made
    assert folder.stat().st_mode & 0o077 == 0
    settings = Settings.from_env(
        {
            f"COUNTERFOIL_{name.upper()}_FILE": str(folder / name)
            for name in made.keys() - {"postgres_password"}
        }
    )
    assert settings.database_url is not None
    assert made["postgres_password"] in settings.database_url
    assert settings.data_encryption_keys is not None
    assert settings.operator_token == made["operator_token"]
    assert settings.remnawave_token is None
    said = {"remnawave_token": "of my panel"}  # its owner may say it
    (folder / "remnawave_token").write_text(said["remnawave_token"])
    assert made_in(folder) == made | said


def test_secrets_are_not_committed() -> None:
    ignored = (ROOT / ".gitignore").read_text("utf-8").splitlines()

    assert "/deploy/secrets/" in ignored


def test_volumes_last_and_are_declared() -> None:
    mounted = {
        mount.partition(":")[0]
        for service in SERVICES.values()
        for mount in service.get("volumes", [])
    }

    assert mounted == COMPOSE["volumes"].keys() == {"database", "data"}


def test_the_trial_adds_a_panel_and_changes_nothing_else() -> None:
    panel = TRIAL["services"]["panel"]

    assert TRIAL["services"].keys() == {"worker", "panel"}
    assert TRIAL["services"]["worker"].keys() == {"environment"}
    for member in ("read_only", "cap_drop", "security_opt", "user"):
        assert panel[member] == SERVICES["worker"][member]
