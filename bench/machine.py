"""What a run was measured on; nobody can read a figure without it."""

import os
import platform
import time
from contextlib import closing
from pathlib import Path
from typing import Final

from infrastructure.postgres.database import connect
from infrastructure.postgres.heads.table import text

_SETTINGS: Final = """
SELECT name, setting || coalesce(' ' || unit, '')
  FROM pg_settings
 WHERE name IN ('server_version', 'fsync', 'synchronous_commit', 'full_page_writes',
                'shared_buffers', 'max_wal_size', 'wal_level', 'autovacuum')
 ORDER BY name
"""


def machine(uri: str) -> dict[str, str]:
    """Return the machine and the server's settings, as lines for a person."""
    with closing(connect(uri)) as connection:
        rows = connection.execute(_SETTINGS).fetchall()
    return {
        "processor": f"{os.cpu_count()} cores, {_first('/proc/cpuinfo', 'model name')}",
        "memory": _first("/proc/meminfo", "MemTotal"),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "python": platform.python_version(),
    } | {f"postgres {text(row[0])}": text(row[1]) for row in rows}


def load() -> str:
    """Return the load averages of 1, 5 and 15 minutes: what else the machine did."""
    return " ".join(f"{each:.1f}" for each in os.getloadavg())


def utc() -> str:
    """Return the present time, to the minute."""
    return time.strftime("%Y-%m-%dT%H:%MZ", time.gmtime())


def _first(file: str, name: str) -> str:
    path = Path(file)
    if path.is_file():
        for line in path.read_text().splitlines():
            if line.startswith(name):
                return " ".join(line.partition(":")[2].split())
    return platform.processor() or "unknown"
