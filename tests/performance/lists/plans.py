"""The plans by which the server really answered, as its own module auto_explain tells.

So a kept plan is seen as it was kept, and no statement is explained by other rules
than those under which it ran.
"""

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
import psycopg

_TELL = """
LOAD 'auto_explain';
SET auto_explain.log_min_duration = 0;
SET auto_explain.log_analyze = on;
SET auto_explain.log_buffers = on;
SET auto_explain.log_timing = off;
SET auto_explain.log_format = json;
SET client_min_messages = log
"""


class Node(msgspec.Struct, frozen=True, rename=lambda name: name.replace("_", " ")):
    """One node of a plan, with what it really did."""

    Node_Type: str
    Actual_Rows: float
    Actual_Loops: float
    Relation_Name: str | None = None
    Index_Name: str | None = None
    Rows_Removed_by_Filter: float = 0
    Rows_Removed_by_Index_Recheck: float = 0
    Shared_Hit_Blocks: int = 0
    Shared_Read_Blocks: int = 0
    Plans: tuple["Node", ...] = ()

    def all(self) -> Iterator["Node"]:
        """Yield this node and all below it."""
        yield self
        for below in self.Plans:
            yield from below.all()

    @property
    def looked_at(self) -> float:
        """How many rows it looked at."""
        removed = self.Rows_Removed_by_Filter + self.Rows_Removed_by_Index_Recheck
        return (self.Actual_Rows + removed) * self.Actual_Loops


class _Told(msgspec.Struct, rename={"plan": "Plan", "text": "Query Text"}):
    text: str
    plan: Node


_told = msgspec.json.Decoder(_Told)


class Plans:
    """Keeps the plans of one connection's statements over read models."""

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self.connection = connection
        self._nodes: list[Node] = []
        connection.execute(_TELL)
        connection.add_notice_handler(self._hear)

    def _hear(self, told: psycopg.errors.Diagnostic) -> None:
        message = told.message_primary or ""
        _, is_plan, plan = message.partition("plan:\n")
        if is_plan:
            self._nodes.append(_told.decode(plan).plan)

    @contextmanager
    def lend(self) -> Generator[psycopg.Connection[Any]]:
        """Lend the connection."""
        yield self.connection

    @contextmanager
    def of(self, table: str) -> Generator["Work"]:
        """Give what is done inside to a table."""
        self._nodes.clear()
        work = Work(table)
        yield work
        work.plans = [
            plan
            for plan in self._nodes
            if any(node.Relation_Name == table for node in plan.all())
        ]


class Work:
    """What some statements did to one table."""

    def __init__(self, table: str) -> None:
        self.table = table
        self.plans: list[Node] = []

    @property
    def _scans(self) -> list[Node]:
        return [
            node
            for plan in self.plans
            for node in plan.all()
            if node.Relation_Name == self.table
        ]

    @property
    def indexes(self) -> set[str | None]:
        """The indexes by which rows were found; None: without one."""
        return {node.Index_Name for node in self._scans}

    @property
    def looked_at(self) -> float:
        """Rows of the table that were looked at."""
        return sum(node.looked_at for node in self._scans)

    @property
    def sorted(self) -> float:
        """The most rows that were put in order at once."""
        return max(
            (
                below.Actual_Rows * below.Actual_Loops
                for plan in self.plans
                for node in plan.all()
                if "Sort" in node.Node_Type
                for below in node.Plans
            ),
            default=0,
        )

    @property
    def blocks(self) -> int:
        """Blocks that were read, from memory or not."""
        return sum(it.Shared_Hit_Blocks + it.Shared_Read_Blocks for it in self.plans)
