"""Prepare a demo's database and folder, and run it there; the data stay.

A demo always has an embedded server of its own, so that it can never touch an
installation; running it again begins with an empty schema.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from application.front_door import SettleOne
from application.settle_file import Progress as Count
from application.settle_file import settle_file
from domain.event import JsonObject
from infrastructure import embedded
from infrastructure.demo.figures import Progress
from infrastructure.demo.processes import DemoProcessError, Place
from infrastructure.demo.run import DemoOptions, DemoResult, Stage, run_demo
from infrastructure.installation import settle_over
from infrastructure.postgres import migrator
from infrastructure.postgres.database import Database

_BEGIN_ANEW: Final = "DROP SCHEMA IF EXISTS counterfoil CASCADE"
_EVERY: Final = 50
"""Orders between two looks at how far everything is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Orders:
    """The real orders and what their columns mean."""

    file: Path
    map_file: Path

    def template(self) -> JsonObject:
        """Return the map of the orders' columns.

        Raises:
            DemoProcessError: one of the files is missing.
        """
        for each in (self.file, self.map_file):
            if not each.is_file():
                msg = f"{each} is missing; run the demo from a checkout"
                raise DemoProcessError(msg)
        return msgspec.json.decode(self.map_file.read_bytes(), type=JsonObject)


def stage_demo(
    folder: Path,
    orders: Orders,
    options: DemoOptions,
    tell: Callable[[str], None],
    show: Callable[[Progress], None],
) -> DemoResult:
    """Return the result of a demo whose database and files lie under `folder`.

    Raises:
        CounterfoilError: the server, a child or the orders' file failed.
    """
    template = orders.template()
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("panel.sqlite*"):
        old.unlink()
    with (
        embedded.serve(folder) as server,
        Database(server.uri, pool_size=2) as database,
        database.connection() as connection,
    ):
        for notice in server.notices:
            tell(notice)
        connection.execute(_BEGIN_ANEW)
        migrator.migrate(server.uri)
        tell(f"embedded PostgreSQL, durable, under {server.home}")
        place = Place(folder, server.uri)
        settle = _settling(orders, template, settle_over(database))
        stage = Stage(settle=settle, tell=tell, show=show)
        return run_demo(connection, place, stage, options)


def _settling(
    orders: Orders, template: JsonObject, settle_one: SettleOne
) -> Callable[[Callable[[], object]], int]:
    """Return what settles every order, calling back after each few of them."""

    def settle(look: Callable[[], object]) -> int:
        def counted(done: Count) -> None:
            if done.settled % _EVERY == 0:
                look()

        with orders.file.open("rb") as stream:
            result = settle_file(stream, template, settle_one, counted)
        if result.refused:
            first = result.refused[0]
            msg = f"line {first.line} of {orders.file} was refused: {first.detail}"
            raise DemoProcessError(msg)
        return result.settled

    return settle
