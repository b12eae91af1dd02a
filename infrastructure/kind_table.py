"""Every kind that this installation knows, told without a database."""

from typing import Final

from application.job_kinds import KindTable, line_of
from domain.event import Actor
from infrastructure.bulk.kinds import NoConnections
from infrastructure.extensions.extensions import Extensions
from infrastructure.ids import new_id
from infrastructure.kinds import Parts, product_kinds
from infrastructure.postgres.batch_store import BatchStore
from infrastructure.postgres.streams import PostgresStreams

PRODUCT: Final = "counterfoil"


def kind_table(extensions: Extensions) -> KindTable:
    """Return the product's kinds and those of other packages."""
    lines = [line_of(kind, PRODUCT) for kind in product_kinds(_PARTS).values()]
    lines += [line_of(each.kind, each.entry.package) for each in extensions.found.kinds]
    return KindTable(
        tuple(sorted(lines, key=lambda line: line.kind)), extensions.faults
    )


_PARTS: Final = Parts(
    streams=PostgresStreams(NoConnections()),
    units=BatchStore(NoConnections()),
    ids=new_id,
    panel=None,
    username_prefix="",
    actor=Actor(type="system", id=PRODUCT),
)
