"""Each fault is found, with its remedy; what is well is said to be well."""

import base64
import socket
from datetime import timedelta
from pathlib import Path

import msgspec
import pytest

from infrastructure.doctor.examine import examine
from infrastructure.doctor.finding import Finding
from infrastructure.settings import Settings
from tests.api.command import Command
from tests.fixtures.database import TestDatabase
from tests.fixtures.workers import enqueue
from tests.providers.stage import TOKEN, Stage

pytestmark = pytest.mark.database

KEYS = f"k1:{base64.b64encode(bytes(range(32))).decode()}"


@pytest.fixture
def settings(database: TestDatabase, tmp_path: Path) -> Settings:
    return Settings.from_env(
        {
            "COUNTERFOIL_DATABASE_URL": database.url,
            "COUNTERFOIL_DATA_DIR": str(tmp_path),
            "COUNTERFOIL_DATA_ENCRYPTION_KEYS": KEYS,
        }
    )


def faults(settings: Settings) -> dict[str, Finding]:
    return {it.about: it for it in examine(lambda: settings) if not it.is_well}


def test_an_installation_that_is_well_has_no_fault(settings: Settings) -> None:
    findings = tuple(examine(lambda: settings))

    assert [it for it in findings if not it.is_well] == []
    assert [it.about for it in findings] == [
        *("settings", "database", "schema", "positions", "keys", "clock", "limits"),
        *("workers", "projections", "restore guard", "snapshots", "notices"),
        *("data folder", "panel", "providers"),
    ]


def test_a_setting_that_is_wrong_is_the_only_finding() -> None:
    def read() -> Settings:
        return Settings.from_env({"COUNTERFOIL_DATA_ENCRYPTION_KEYS": "k1:hunter2"})

    (only,) = examine(read)

    assert only.detail.startswith("COUNTERFOIL_DATA_ENCRYPTION_KEYS: ")
    assert "make-key" in str(only.remedy)
    assert "hunter2" not in str(only)


def test_a_database_that_is_away(settings: Settings) -> None:
    away = msgspec.structs.replace(
        settings, database_url="postgresql://shop:hunter2@127.0.0.1:1/shop"
    )

    found = faults(away)

    assert found["database"].detail == "cannot be reached"
    assert "hunter2" not in str(found)


def test_no_database_is_made_by_looking(tmp_path: Path) -> None:
    folder = tmp_path / "nowhere"

    found = faults(Settings(data_dir=folder))

    assert "counterfoil up" in str(found["database"].remedy)
    assert not folder.exists()


def test_a_schema_that_is_too_old(database: TestDatabase, settings: Settings) -> None:
    database.connect().execute(
        """
        DELETE FROM counterfoil.schema_migrations
         WHERE number = (SELECT max(number) FROM counterfoil.schema_migrations)
        """
    )

    found = faults(settings)

    assert set(found) == {"schema"}
    assert found["schema"].remedy == "run `counterfoil migrate`"


def test_positions_that_would_be_used_again(
    database: TestDatabase, settings: Settings
) -> None:
    connection = database.connect()
    enqueue(connection, "mail")
    enqueue(connection, "mail")
    connection.execute("SELECT setval('counterfoil.position_seq', 1)")

    assert "setval" in str(faults(settings)["positions"].remedy)


def test_a_clock_that_differs(database: TestDatabase, settings: Settings) -> None:
    database.advance(timedelta(minutes=2))

    assert "behind the database" in faults(settings)["clock"].detail


def test_a_credential_whose_key_is_missing(
    database: TestDatabase, settings: Settings
) -> None:
    database.connect().execute(
        """
        INSERT INTO counterfoil.goods_providers
               (tenant_id, slug, adapter, is_enabled, base_url, currency, credential,
                credential_key, credential_at)
        VALUES ('default', 'stars', 'fragment', false, 'https://stars.example', 'RUB',
                decode(repeat('00', 64), 'hex'), 'k0', counterfoil.now())
        """
    )

    found = faults(settings)["keys"]

    assert "default/stars is sealed by key k0, which is missing" in found.detail
    assert "COUNTERFOIL_DATA_ENCRYPTION_KEYS" in str(found.remedy)


def test_limits_that_are_nearly_reached(
    database: TestDatabase, settings: Settings
) -> None:
    connection = database.connect()
    connection.execute("UPDATE counterfoil.limits SET max_tenant_pending = 2")
    enqueue(connection, "mail")
    enqueue(connection, "mail")

    assert "2 of 2" in faults(settings)["limits"].detail


def test_due_jobs_that_no_worker_knows(
    database: TestDatabase, settings: Settings
) -> None:
    enqueue(database.connect(), "mail", queue="bulk")

    found = faults(settings)["workers"]

    assert found.detail.startswith("1 due jobs of kind mail in queue bulk")


def test_projections_that_are_paused(
    database: TestDatabase, settings: Settings
) -> None:
    database.connect().execute(
        """
        UPDATE counterfoil.projections
           SET paused_at = counterfoil.now(), paused_by = 'ann', paused_reason = 'why'
         WHERE name = 'jobs'
        """
    )

    found = faults(settings)["projections"]

    assert found.detail == "jobs: paused"
    assert "projections resume" in str(found.remedy)


def test_projections_that_are_behind(
    database: TestDatabase, settings: Settings
) -> None:
    enqueue(database.connect(), "mail")
    database.advance(timedelta(minutes=1))

    assert "s behind" in faults(settings)["projections"].detail


def test_a_guard_that_is_engaged(database: TestDatabase, settings: Settings) -> None:
    database.connect().execute(
        """
        UPDATE counterfoil.restore_guard
           SET state = 'quarantined', since = counterfoil.now(), engaged_by = 'ann',
               reason = 'a test', signs = '{asked}'
        """
    )

    assert "docs/restore.md" in str(faults(settings)["restore guard"].remedy)


def test_a_transaction_that_has_been_open_for_long(
    database: TestDatabase, settings: Settings
) -> None:
    holder = database.connect()
    with holder.transaction():
        enqueue(holder, "mail")
        database.advance(timedelta(minutes=11))

        found = faults(settings)["snapshots"]

    assert f"pid {holder.info.backend_pid}" in found.detail


def test_an_address_for_notices_that_leads_nowhere(settings: Settings) -> None:
    away = msgspec.structs.replace(
        settings, listen_url="postgresql://shop@127.0.0.1:1/shop"
    )

    assert "cannot be reached" in faults(away)["notices"].detail


def test_a_folder_that_cannot_be_written(settings: Settings, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("no folder")

    found = faults(msgspec.structs.replace(settings, data_dir=file / "var"))

    assert "COUNTERFOIL_DATA_DIR" in str(found["data folder"].remedy)


def test_a_panel_that_is_not_there(settings: Settings) -> None:
    away = msgspec.structs.replace(
        settings,
        remnawave_url="http://127.0.0.1:1",
        remnawave_token="hunter2",  # noqa: S106 - of nobody
    )

    found = faults(away)

    assert found["panel"].detail == "cannot be reached"
    assert "hunter2" not in str(found)


def test_a_panel_that_knows_its_token_and_one_that_does_not(
    settings: Settings, tmp_path: Path
) -> None:
    (tmp_path / "panel").mkdir()
    with Stage(tmp_path / "panel") as stage:
        right = msgspec.structs.replace(
            settings, remnawave_url=stage.panel.url, remnawave_token=TOKEN
        )
        wrong = msgspec.structs.replace(right, remnawave_token=TOKEN[::-1])

        well, ill = faults(right), faults(wrong)

    assert "panel" not in well
    assert "401" in ill["panel"].detail
    assert "COUNTERFOIL_REMNAWAVE_TOKEN" in str(ill["panel"].remedy)


def test_an_address_for_notices_that_leads_to_the_server(
    database: TestDatabase, settings: Settings
) -> None:
    direct = msgspec.structs.replace(settings, listen_url=database.url)

    told = {it.about: it for it in examine(lambda: direct)}

    assert told["notices"].is_well
    assert told["notices"].detail.endswith("leads to a server itself")


def test_a_provider_that_is_not_there(
    database: TestDatabase, settings: Settings
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    database.connect().execute(
        """
        INSERT INTO counterfoil.goods_providers
               (tenant_id, slug, adapter, is_enabled, base_url, currency, credential,
                credential_key, credential_at)
        VALUES ('default', 'stars', 'fragment', true, %s, 'RUB',
                decode(repeat('00', 64), 'hex'), 'k1', counterfoil.now())
        """,
        (f"http://127.0.0.1:{port}",),
    )

    assert "default/stars cannot be reached" in faults(settings)["providers"].detail


def test_the_command_tells_the_remedy_and_ends_with_one(
    database: TestDatabase, tmp_path: Path
) -> None:
    counterfoil = Command(
        COUNTERFOIL_DATABASE_URL=database.url, COUNTERFOIL_DATA_DIR=str(tmp_path)
    )
    well = counterfoil("doctor", "--json")
    enqueue(database.connect(), "mail")

    ill = counterfoil("doctor")

    assert (well.code, well.document["ok"]) == (0, True)
    assert ill.code == 1
    assert "WRONG  workers: 1 due jobs of kind mail" in ill.out
    assert "remedy: start `counterfoil worker`" in ill.out
