"""How the tests of lists ask."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg

from projections.queries.listing import Listing
from projections.queries.page import Page
from projections.queries.terms import Asked
from projections.reading import Reading, reading
from tests.projections.queries.things import THINGS, Thing


@contextmanager
def looking(connection: psycopg.Connection[Any]) -> Iterator[Reading]:
    """Give a snapshot over a connection that stays open."""

    @contextmanager
    def lend() -> Iterator[psycopg.Connection[Any]]:
        yield connection

    with reading(lend, "things") as look:
        yield look


def ask(
    connection: psycopg.Connection[Any],
    asked: Asked,
    listing: Listing[Thing] = THINGS,
) -> Page[Thing]:
    """Return one page."""
    with looking(connection) as look:
        return listing.read(look, asked)
