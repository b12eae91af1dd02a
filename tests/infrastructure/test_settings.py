"""Settings are read once, from the environment, and say what is wrong with them."""

from base64 import b64encode
from contextlib import suppress
from pathlib import Path
from traceback import format_exception

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infrastructure.errors import ConfigurationError
from infrastructure.settings import Settings

URL = "postgresql://shop:hunter2@db.example/orders"
KEYS = ",".join(
    f"{name}:{b64encode(bytes(range(first, first + 32))).decode()}"
    for name, first in (("k2", 7), ("k1", 70))
)
DIRECT_URL = "postgresql://shop:hunter2@direct.example/orders"


def test_nothing_needs_to_be_set() -> None:
    settings = Settings.from_env({})

    assert settings == Settings()
    assert settings.database_url is None
    assert settings.listen_url is None
    assert settings.data_dir == Path("var")
    assert settings.panel_username_prefix == "counterfoil_"
    assert settings.job_max_concurrent is None
    queues = (settings.queue_critical, settings.queue_default, settings.queue_bulk)
    assert queues == (16, 8, 4)
    assert settings.shutdown_grace_seconds is None


def test_everything_can_be_set() -> None:
    settings = Settings.from_env(
        {
            "COUNTERFOIL_DATABASE_URL": URL,
            "COUNTERFOIL_LISTEN_URL": DIRECT_URL,
            "COUNTERFOIL_DATA_DIR": "/srv/counterfoil",
            "COUNTERFOIL_PGBIN": "/usr/lib/postgresql/15/bin",
            "COUNTERFOIL_REMNAWAVE_URL": " https://panel.example:8443/ ",
            "COUNTERFOIL_REMNAWAVE_TOKEN": "token-1",
            "COUNTERFOIL_PANEL_USERNAME_PREFIX": "shop-1_",
            "COUNTERFOIL_JOB_MAX_CONCURRENT": "5",
            "COUNTERFOIL_QUEUE_CRITICAL": "1",
            "COUNTERFOIL_QUEUE_DEFAULT": "2",
            "COUNTERFOIL_QUEUE_BULK": "3",
            "COUNTERFOIL_SHUTDOWN_GRACE_SECONDS": "40",
            "COUNTERFOIL_FOUR_EYES": "On",
            "COUNTERFOIL_WORKER_HTTP_ADDR": ":8081",
            "COUNTERFOIL_API_METRICS_ADDR": "[::1]:9464",
            "PATH": "/bin",
        }
    )

    assert settings == Settings(
        database_url=URL,
        listen_url=DIRECT_URL,
        data_dir=Path("/srv/counterfoil"),
        pgbin=Path("/usr/lib/postgresql/15/bin"),
        remnawave_url="https://panel.example:8443",
        remnawave_token="token-1",  # noqa: S106 - a test's
        panel_username_prefix="shop-1_",
        job_max_concurrent=5,
        queue_critical=1,
        queue_default=2,
        queue_bulk=3,
        shutdown_grace_seconds=40,
        four_eyes=True,
        worker_http_addr=("0.0.0.0", 8081),  # noqa: S104 - asked for
        api_metrics_addr=("::1", 9464),
    )


def test_what_the_api_is_asked_with_can_be_set() -> None:
    settings = Settings.from_env(
        {
            "COUNTERFOIL_ENVIRONMENT": "staging",
            "COUNTERFOIL_OPERATOR_TOKEN": "token-1" * 5,
            "COUNTERFOIL_RATE_LIMIT_BURST": "100000000",
            "COUNTERFOIL_RATE_LIMIT_HOUR": "1",
        }
    )

    assert settings == Settings(
        environment="staging",
        operator_token="token-1" * 5,
        rate_limit_burst=100_000_000,
        rate_limit_hour=1,
    )


def test_empty_means_unset() -> None:
    names = ("DATABASE_URL", "LISTEN_URL", "DATA_DIR", "REMNAWAVE_URL", "QUEUE_BULK")

    settings = Settings.from_env({f"COUNTERFOIL_{name}": " " for name in names})

    assert settings == Settings()


def test_the_first_of_several_keys_is_the_active_one() -> None:
    settings = Settings.from_env({"COUNTERFOIL_DATA_ENCRYPTION_KEYS": KEYS})

    assert settings.data_encryption_keys is not None
    assert settings.data_encryption_keys.ids == ("k2", "k1")
    assert Settings.from_env({}).data_encryption_keys is None


@pytest.mark.parametrize("keys", ["hunter2", "k1:hunter2", f"{KEYS},", f"{KEYS},k1:x"])
def test_malformed_keys_say_how_to_make_one(keys: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        Settings.from_env({"COUNTERFOIL_DATA_ENCRYPTION_KEYS": keys})

    told = str(refused.value)
    assert told.startswith("COUNTERFOIL_DATA_ENCRYPTION_KEYS: ")
    assert "`counterfoil credentials make-key` makes one" in told
    assert "hunter2" not in "".join(format_exception(refused.value))
    assert KEYS[3:20] not in "".join(format_exception(refused.value))


def test_no_secret_is_shown() -> None:
    """I12."""
    settings = Settings.from_env(
        {
            "COUNTERFOIL_DATA_ENCRYPTION_KEYS": KEYS,
            "COUNTERFOIL_DATABASE_URL": URL,
            "COUNTERFOIL_LISTEN_URL": DIRECT_URL,
            "COUNTERFOIL_REMNAWAVE_TOKEN": "token-1",
            "COUNTERFOIL_OPERATOR_TOKEN": "token-1" * 5,
            "COUNTERFOIL_DATA_DIR": "/srv",
        }
    )

    for shown in (repr(settings), str(settings), f"{settings}"):
        assert "hunter2" not in shown
        assert "token-1" not in shown
        assert KEYS[3:20] not in shown
        assert "/srv" in shown


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("DATABASE_URL", "hunter2 is not an address"),
        ("DATABASE_URL", "postgresql://shop:hunter2@[/orders"),
        ("DATABASE_URL", "host=db hunter2"),
        ("LISTEN_URL", "hunter2 is not an address"),
        ("FOUR_EYES", "yes, please"),
        ("WORKER_HTTP_ADDR", "8081"),
        ("WORKER_HTTP_ADDR", "here:port"),
        ("WORKER_HTTP_ADDR", "127.0.0.1:65536"),
        ("API_METRICS_ADDR", "9464"),
        ("ENVIRONMENT", "my_environment"),
        ("ENVIRONMENT", "1st"),
        ("OPERATOR_TOKEN", "hunter2"),
        ("RATE_LIMIT_BURST", "0"),
        ("RATE_LIMIT_HOUR", "100000001"),
        ("REMNAWAVE_URL", "panel.example"),
        ("REMNAWAVE_URL", "ftp://panel.example"),
        ("REMNAWAVE_URL", "https://"),
        ("REMNAWAVE_URL", "https://admin:hunter2@panel.example"),
        ("REMNAWAVE_URL", "https://panel.example:port"),
        ("REMNAWAVE_URL", "https://panel.example/?key=hunter2"),
        ("REMNAWAVE_TOKEN", "hunter2\nX-Admin: yes"),
        ("PANEL_USERNAME_PREFIX", "shop.example/"),
        ("PANEL_USERNAME_PREFIX", "ш"),
        ("PANEL_USERNAME_PREFIX", "a" * 21),
        ("JOB_MAX_CONCURRENT", "0"),
        ("JOB_MAX_CONCURRENT", "-1"),
        ("JOB_MAX_CONCURRENT", "1.5"),
        ("JOB_MAX_CONCURRENT", "many"),
        ("JOB_MAX_CONCURRENT", "9" * 5000),
        ("JOB_MAX_CONCURRENT", "٣"),
        ("QUEUE_CRITICAL", "10001"),
        ("QUEUE_DEFAULT", "0x10"),
        ("QUEUE_BULK", "1_000"),
        ("SHUTDOWN_GRACE_SECONDS", "9"),
        ("DATA_DIR", "~no-such-user-here/var"),
    ],
)
def test_a_wrong_value_is_named_with_its_remedy_and_without_its_secret(
    name: str, value: str
) -> None:
    with pytest.raises(ConfigurationError) as refused:
        Settings.from_env({f"COUNTERFOIL_{name}": value})

    assert refused.value.setting == f"COUNTERFOIL_{name}"
    assert refused.value.remedy
    assert "hunter2" not in str(refused.value)
    assert len(str(refused.value)) < 300


@given(
    name=st.sampled_from(
        ["DATABASE_URL", "DATA_DIR", "REMNAWAVE_URL", "QUEUE_BULK", "PGBIN"]
    ),
    value=st.text(),
)
def test_no_value_does_anything_but_be_taken_or_refused(name: str, value: str) -> None:
    environ = {f"COUNTERFOIL_{name}": value}

    with suppress(ConfigurationError):
        assert isinstance(Settings.from_env(environ), Settings)


def test_a_value_may_be_read_from_a_file(tmp_path: Path) -> None:
    secret = tmp_path / "database_url"
    secret.write_text(f"{URL}\n", "utf-8")

    settings = Settings.from_env({"COUNTERFOIL_DATABASE_URL_FILE": str(secret)})

    assert settings.database_url == URL


def test_an_empty_file_means_unset(tmp_path: Path) -> None:
    secret = tmp_path / "remnawave_token"
    secret.write_text("\n", "utf-8")

    settings = Settings.from_env({"COUNTERFOIL_REMNAWAVE_TOKEN_FILE": str(secret)})

    assert settings.remnawave_token is None


def test_a_value_and_a_file_for_it_are_one_too_many(tmp_path: Path) -> None:
    secret = tmp_path / "token"
    secret.write_text("hunter2", "utf-8")
    environ = {
        "COUNTERFOIL_REMNAWAVE_TOKEN": "hunter2",
        "COUNTERFOIL_REMNAWAVE_TOKEN_FILE": str(secret),
    }

    with pytest.raises(ConfigurationError) as refused:
        Settings.from_env(environ)

    assert str(refused.value) == (
        "COUNTERFOIL_REMNAWAVE_TOKEN: is set, and a file is named for it; "
        "unset it, or COUNTERFOIL_REMNAWAVE_TOKEN_FILE"
    )


@pytest.mark.parametrize("held", [b"\xff hunter2", b"hunter2" * 10_000, b"a\nhunter2"])
def test_a_file_that_cannot_be_meant_is_named_and_not_repeated(
    tmp_path: Path, held: bytes
) -> None:
    secret = tmp_path / "token"
    secret.write_bytes(held)

    with pytest.raises(ConfigurationError) as refused:
        Settings.from_env({"COUNTERFOIL_REMNAWAVE_TOKEN_FILE": str(secret)})

    assert "COUNTERFOIL_REMNAWAVE_TOKEN" in refused.value.setting
    assert "hunter2" not in "".join(format_exception(refused.value))


@pytest.mark.parametrize("name", ["no such file", "", "a\0b"])
def test_a_file_that_is_not_there_is_named(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        Settings.from_env({"COUNTERFOIL_REMNAWAVE_TOKEN_FILE": f"{tmp_path}/{name}"})

    assert refused.value.setting == "COUNTERFOIL_REMNAWAVE_TOKEN_FILE"
    assert "name a file of one line" in refused.value.remedy
