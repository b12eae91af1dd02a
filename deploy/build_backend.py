"""Build with uv_build, and carry the migrations inside the wheel.

uv_build ships the six packages and nothing beside them, but an installed product
needs its schema too. A wheel therefore holds a copy of `migrations/*.sql` in
`infrastructure/postgres/migrations/`; a checkout never does.
"""

import shutil
from collections.abc import Mapping
from pathlib import Path

import uv_build
from uv_build import (
    build_editable,
    build_sdist,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable",
    "prepare_metadata_for_build_wheel",
]

SOURCE = Path("migrations")  # a build starts in the project's root (PEP 517)
CARRIED = Path("infrastructure/postgres/migrations")


def build_wheel(
    wheel_directory: str,
    config_settings: Mapping[str, object] | None = None,
    metadata_directory: str | None = None,
) -> str:
    """Return the name of a wheel that also holds the migrations."""
    shutil.rmtree(CARRIED, ignore_errors=True)
    CARRIED.mkdir(parents=True)
    try:
        for migration in sorted(SOURCE.glob("*.sql")):
            shutil.copy(migration, CARRIED)
        return uv_build.build_wheel(
            wheel_directory, config_settings, metadata_directory
        )
    finally:
        shutil.rmtree(CARRIED)
