"""Prepare a demo's database and folder, and run it there; the data stay.

A demo always has an embedded server of its own, so that it can never touch an
installation; running it again begins with an empty schema.
"""

import csv
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import chain
from pathlib import Path
from typing import Final

import msgspec

from application.front_door import SettleOne
from application.settle_file import Progress as Count
from application.settle_file import settle_file
from domain.event import JsonObject
from infrastructure import embedded
from infrastructure.demo.diary import Goods, Sale
from infrastructure.demo.figures import Progress
from infrastructure.demo.people.reader import Reader
from infrastructure.demo.processes import DemoProcessError, Place
from infrastructure.demo.run import DemoResult, run_demo
from infrastructure.demo.stage import DemoOptions, Stage
from infrastructure.front_door import settle_over
from infrastructure.guards.journal import NAME
from infrastructure.postgres import migrator
from infrastructure.postgres.database import Database

_BEGIN_ANEW: Final = "DROP SCHEMA IF EXISTS counterfoil CASCADE"
_POOL: Final = 6
"""Whoever settles, whoever looks, and a comparison of read models."""
_BEFORE: Final = ("panel.sqlite*", "gateway.sqlite*", NAME)
"""What an earlier demo has left, and would be taken for this one's."""
_EVERY: Final = 50
"""Orders between two looks at how far everything is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Orders:
    """The real orders and what their columns mean."""

    file: Path
    map_file: Path

    def by_quarter(self, folder: Path) -> "Dated":
        """Return the orders quarter after quarter, written into `folder`.

        The file tells customer after customer.  So whoever comes back does so while
        the demo runs, and whoever buys often buys in bursts all the same.

        Raises:
            DemoProcessError: one of the files is missing.
        """
        for each in (self.file, self.map_file):
            if not each.is_file():
                msg = f"{each} is missing; run the demo from a checkout"
                raise DemoProcessError(msg)
        with self.file.open(encoding="utf-8", newline="") as stream:
            rows = [
                {"number": str(number), **row}
                for number, row in enumerate(csv.DictReader(stream), start=1)
            ]
        rows.sort(key=lambda row: _quarter(row["order_date"]))
        file = folder / "orders.csv"
        with file.open("w", encoding="utf-8", newline="") as stream:
            writer = csv.DictWriter(stream, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
        # An order keeps the number that it has in the shop's own file.
        template = self.map_file.read_text("utf-8").replace("{row}", "{number}")
        return Dated(file, msgspec.json.decode(template, type=JsonObject), rows)


@dataclass(frozen=True, slots=True)
class Dated:
    """The orders, one quarter of a year after the other."""

    file: Path
    template: JsonObject
    rows: Sequence[Mapping[str, str]]

    def sales(self) -> dict[str, Sale]:
        """Return what was sold to whom, by the order's id."""
        access, goods = msgspec.convert(self.template["lines"], list[JsonObject])
        days = int(str(access["days"]))
        named = str(self.template["orderId"])
        return {
            named.replace("{number}", row["number"]): Sale(
                row["customer_id"], days, _goods(goods, row)
            )
            for row in self.rows
        }


def _goods(line: JsonObject, row: Mapping[str, str]) -> Goods:
    """Return what a line of goods means for one row of the shop's file."""
    pieces = int(row["units"])
    product = msgspec.convert(line["product"], JsonObject)
    return Goods(
        provider=str(line["provider"]),
        recipient=str(line["recipient"]).format(**row),
        units=pieces * int(str(product["quantity"])),
        cost_minor=pieces * int(str(line["costMinor"])),
        price_minor=pieces * int(str(line["priceMinor"])),
        amount_minor=int(Decimal(row["amount_usd"]).scaleb(2)),
    )


def _quarter(date: str) -> tuple[str, int]:
    year, month, _ = date.split("-")
    return year, (int(month) - 1) // 3


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
    folder.mkdir(parents=True, exist_ok=True)
    dated = orders.by_quarter(folder)
    # The log begins anew, so what an earlier demo bought is nothing that it lost.
    for old in chain(*(folder.glob(each) for each in _BEFORE)):
        old.unlink()
    with (
        embedded.serve(folder) as server,
        Database(server.uri, pool_size=_POOL) as database,
        database.connection() as connection,
    ):
        for notice in server.notices:
            tell(notice)
        connection.execute(_BEGIN_ANEW)
        migrator.migrate(server.uri)
        tell(f"embedded PostgreSQL, durable, under {server.home}")
        place = Place(folder, server.uri)
        settle = _settling(dated, settle_over(database))
        stage = Stage(sales=dated.sales(), settle=settle, tell=tell, show=show)
        return run_demo(connection, Reader.over(database), place, stage, options)


def _settling(
    orders: Dated, settle_one: SettleOne
) -> Callable[[Callable[[], object]], None]:
    """Return what settles every order, calling back after each few of them."""

    def settle(look: Callable[[], object]) -> None:
        def counted(done: Count) -> None:
            if done.settled % _EVERY == 0:
                look()

        with orders.file.open("rb") as stream:
            result = settle_file(stream, orders.template, settle_one, counted)
        if result.refused:
            first = result.refused[0]
            msg = f"line {first.line} of {orders.file} was refused: {first.detail}"
            raise DemoProcessError(msg)

    return settle
