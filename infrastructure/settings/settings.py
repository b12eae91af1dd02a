"""What an installation may set, read once from the environment.

A variable that is unset or empty takes its default.  Any of them may be read from a
file instead, as secrets of containers are: COUNTERFOIL_X_FILE names it.  Secrets
(tokens, keys, and the database's addresses, which may hold a password) are not in the
repr.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Final, override

import msgspec

from infrastructure.seals.key_ring import KeyRing
from infrastructure.settings.environment import Environment

LONGEST_CALL_SECONDS: Final = 10
"""Longest call to a provider (mechanisms 23)."""

_LONGEST_BASE_SECONDS: Final = 1_800  # the longest pause of all is an hour
_MOST_PENDING: Final = 1_000_000
_MOST_REQUESTS: Final = 100_000_000


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of one process."""

    database_url: str | None = None
    """Where PostgreSQL (15 or later) is: postgresql://USER:PASSWORD@HOST:5432/DATABASE;
    none means the embedded one under `data_dir`."""
    listen_url: str | None = None
    """Where notices of that database are listened to, past any pooler, so that idle
    workers are woken (docs/operate.md); none means nowhere, because `database_url` may
    lead through one: workers poll.  The embedded one is always listened to."""
    data_dir: Path = Path("var")
    """Where an installation without a database of its own keeps its data, and each host
    its journal of purchases: one folder a host and database, on a disk that lasts
    (docs/restore.md).  Its folder `evidence` is one for the whole installation
    (docs/reviews.md)."""
    pgbin: Path | None = None
    """Folder with `postgres` and `initdb` for the embedded PostgreSQL; none means the
    wheel's."""
    remnawave_url: str | None = None
    """Base address of the Remnawave panel (docs/panel.md); none: there is none
    yet."""
    remnawave_token: str | None = None
    """The panel's API token."""
    panel_username_prefix: str = "counterfoil_"
    """What the name of every panel user that we create begins with."""
    data_encryption_keys: KeyRing | None = None
    """What seals credentials of goods providers, as ID:KEY,ID:KEY, the active key
    first; `counterfoil credentials make-key` makes one.  None: no goods are bought
    here (docs/providers.md)."""
    goods_backoff_base_seconds: int = 60
    """Half of the pause after the first purchase of goods that was refused; it doubles
    from one to the next, up to an hour (docs/goods.md); and how long a provider that
    fails is first left alone (docs/providers.md)."""
    job_max_concurrent: int | None = None
    """Most jobs that one process runs at once; none means its queues' sum."""
    job_max_pending: int | None = None
    """Most unfinished jobs of all tenants that intake lets in, 0 without a limit.
    Written into the database by `migrate` and `up`; none leaves what stands there, at
    first 10,000 (docs/enqueue.md)."""
    job_max_tenant_pending: int | None = None
    """Most unfinished jobs of one tenant that intake lets in; as above, at first
    1,000."""
    queue_critical: int = 16
    """Most jobs of the queue `critical` that one process runs at once."""
    queue_default: int = 8
    """Most jobs of the queue `default` that one process runs at once."""
    queue_bulk: int = 4
    """Most jobs of the queue `bulk` that one process runs at once."""
    shutdown_grace_seconds: int | None = None
    """How long running handlers may finish after SIGTERM, from 10 s; none: as long as
    the longest call of the kinds here, and 15 s: 25, or 105 where goods are bought."""

    http_addr: tuple[str, int] = ("127.0.0.1", 8080)
    """Host and port at which the API listens; port 0 takes a free one, no host
    every address."""
    read_only: bool = False
    """Whether the API of this process changes nothing: mutations answer 503."""
    worker_http_addr: tuple[str, int] | None = None
    """Where a worker answers probes and metrics, as HOST:PORT; none: nowhere
    (docs/metrics.md)."""
    api_metrics_addr: tuple[str, int] | None = None
    """Where the API's process does, never together with the API itself; as above."""
    environment: str = "live"
    """What tokens of programs say they are for; one of another opens nothing here."""
    operator_token: str | None = None
    """What lets the first owner be made, and nothing else, of at least 32 characters;
    none: only the command line does (docs/api-tokens.md)."""
    rate_limit_burst: int = 60
    """Most requests of one token or session within ten seconds, of each process."""
    rate_limit_hour: int = 10_000
    """Most requests of one token or session within an hour, of each process."""
    four_eyes: bool = False
    """Whether buying goods again, where nobody knows the end of a purchase, needs a
    second person (docs/reviews.md)."""

    @override
    def __repr__(self) -> str:
        """Return the settings with `***` in place of every secret."""
        secret = {"database_url", "listen_url", "remnawave_token", "operator_token"}
        shown = (
            f"{name}={'***' if name in secret and value else repr(value)}"
            for name in self.__struct_fields__
            if (value := getattr(self, name)) is not None
        )
        return f"Settings({', '.join(shown)})"

    @classmethod
    def from_env(cls, environ: Mapping[str, str]) -> "Settings":
        """Return the settings that `environ` asks for.

        Raises:
            ConfigurationError: a variable has a value that cannot be meant.
        """
        env = Environment(environ)
        default = cls()
        return cls(
            database_url=env.conninfo("DATABASE_URL"),
            listen_url=env.conninfo("LISTEN_URL"),
            data_dir=env.path("DATA_DIR") or default.data_dir,
            pgbin=env.path("PGBIN"),
            remnawave_url=env.http_url("REMNAWAVE_URL"),
            remnawave_token=env.text("REMNAWAVE_TOKEN"),
            panel_username_prefix=env.username_prefix("PANEL_USERNAME_PREFIX")
            or default.panel_username_prefix,
            data_encryption_keys=env.key_ring("DATA_ENCRYPTION_KEYS"),
            goods_backoff_base_seconds=env.integer(
                "GOODS_BACKOFF_BASE_SECONDS", most=_LONGEST_BASE_SECONDS
            )
            or default.goods_backoff_base_seconds,
            job_max_concurrent=env.integer("JOB_MAX_CONCURRENT"),
            job_max_pending=env.integer("JOB_MAX_PENDING", least=0, most=_MOST_PENDING),
            job_max_tenant_pending=env.integer(
                "JOB_MAX_TENANT_PENDING", least=0, most=_MOST_PENDING
            ),
            queue_critical=env.integer("QUEUE_CRITICAL") or default.queue_critical,
            queue_default=env.integer("QUEUE_DEFAULT") or default.queue_default,
            queue_bulk=env.integer("QUEUE_BULK") or default.queue_bulk,
            shutdown_grace_seconds=env.integer(
                "SHUTDOWN_GRACE_SECONDS", least=LONGEST_CALL_SECONDS
            ),
            http_addr=env.address("HTTP_ADDR") or default.http_addr,
            read_only=env.flag("READ_ONLY"),
            worker_http_addr=env.address("WORKER_HTTP_ADDR"),
            api_metrics_addr=env.address("API_METRICS_ADDR"),
            environment=env.word("ENVIRONMENT") or default.environment,
            operator_token=env.long_secret("OPERATOR_TOKEN"),
            rate_limit_burst=env.integer("RATE_LIMIT_BURST", most=_MOST_REQUESTS)
            or default.rate_limit_burst,
            rate_limit_hour=env.integer("RATE_LIMIT_HOUR", most=_MOST_REQUESTS)
            or default.rate_limit_hour,
            four_eyes=env.flag("FOUR_EYES"),
        )
