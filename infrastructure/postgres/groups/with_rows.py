"""Rows of plain tables that are written with a group, or not at all."""

from dataclasses import dataclass, fields
from typing import Any, Protocol, Self

from application.unit import Group
from domain.stream import Change
from infrastructure.postgres.database import Connection


class Rows(Protocol):
    """What is written in the transaction of a group that was not refused.

    Called again when the unit is repeated.  Whatever it raises undoes the transaction.
    """

    def before(self, connection: Connection) -> None:
        """Write what can be written before the log's ticket is taken."""
        ...

    def after(
        self, connection: Connection, changes: tuple[Change, ...], position: int
    ) -> None:
        """Write what tells of the events; `position` is 0 when there are none."""
        ...


@dataclass(frozen=True, slots=True)
class GroupWithRows(Group):
    """A group, and the rows that are written with it; alone in its batch."""

    rows: Rows | None = None

    @classmethod
    def of(cls, group: Group, rows: Rows) -> Self:
        """Return the group with these rows."""
        told: dict[str, Any] = {
            each.name: getattr(group, each.name) for each in fields(group)
        }
        told["rows"] = rows
        return cls(**told)
