"""The kinds of a worker, made anew in a process where one job runs alone."""

import os
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

import msgspec

from application.job_kinds import Kinds
from infrastructure.extensions.extensions import Extensions
from infrastructure.installation import Place, open_installation
from infrastructure.processor.suspects.wire import Recipe
from infrastructure.settings import Settings

POOL: Final = 2
"""Connections of one cell: its handler needs one at a time."""


@contextmanager
def kinds_alone(database_url: str) -> Generator[Kinds]:
    """Give the kinds that a worker on this database may run here.

    Raises:
        CounterfoilError: see `open_installation`.
    """
    told = Settings.from_env(os.environ)
    settings = msgspec.structs.replace(told, database_url=database_url)
    extensions = Extensions(settings)
    extensions.require()
    with open_installation(settings, extensions, pool_size=POOL) as services:
        yield services.runnable_kinds


def recipe_of(place: Place) -> Recipe:
    """Return how another process makes the kinds of a worker at `place`."""
    return Recipe(kinds_alone.__module__, kinds_alone.__name__, place.uri)
