"""One batch folded in memory: which rows it changes and ends, what it cannot fold.

    events of the batch ──► wanted keys ──► their rows, loaded ──► folded, one by one

Pure but for the loading.  An event changes all of its rows or none.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from uuid import UUID

import msgspec

from domain.recorded import RecordedEvent
from infrastructure.errors import where
from infrastructure.log.follower import Found
from infrastructure.postgres.codec import EVENT_CLASSES
from projections.read_models.all import AnyProjection
from projections.read_models.projection import Key

if TYPE_CHECKING:
    from domain.event import Event

type Load = Callable[[Collection[Key]], dict[Key, Any]]

BEHIND = "behind"
"""With a position: what the reason of an event begins with that only waits."""


class Aside(msgspec.Struct, frozen=True, kw_only=True):
    """One event that was not folded."""

    found: Found
    reason: str


class Folded(msgspec.Struct, kw_only=True):
    """What a batch comes to."""

    changed: list[Any]
    """Rows as they are after it, of keys that the table may hold."""
    born: list[Any]
    """Rows of keys that the table cannot hold."""
    gone: list[Key]
    """Keys of rows that it holds no more."""
    aside: list[Aside]
    events: int
    """How many were folded."""


def families(projection: AnyProjection) -> frozenset[str]:
    """Return what the tags that it reads begin with."""
    return frozenset(event.tag.partition(".")[0] for event in projection.events)


def concerned(projection: AnyProjection, events: Sequence[Found]) -> list[Found]:
    """Return those events that the projection has to take a stand on.

    A tag that nobody here knows is one of its own when it is of a family that it
    reads: a newer binary may have recorded what changes its rows.
    """
    classes: frozenset[type[Event]] = frozenset(projection.events)
    tags = frozenset(event.tag for event in classes)
    mine = families(projection)

    def unread(tag: str) -> bool:
        if tag in EVENT_CLASSES:
            return tag in tags
        return tag.partition(".")[0] in mine

    return [
        found
        for found in events
        if (
            type(found.event) in classes
            if isinstance(found, RecordedEvent)
            else unread(found.tag)
        )
    ]


def fold(
    projection: AnyProjection,
    events: Sequence[Found],
    load: Load,
    *,
    refused: Mapping[int, str],
    stuck: Mapping[UUID, int],
) -> Folded:
    """Return what `events`, all of its concern, come to.

    `refused` names positions that are to be set aside, and why; `stuck` the streams
    that have one already, with its position.
    """
    return _Fold(projection, refused, dict(stuck)).run(events, load)


class _Cell:
    """One row while it is folded."""

    __slots__ = ("before", "is_born", "key", "row")

    def __init__(self, key: Key, *, is_born: bool) -> None:
        self.key = key
        self.is_born = is_born
        """Whether no such row can be in the table."""
        self.before: Any = None
        self.row: Any = None


class _Fold:
    def __init__(
        self,
        projection: AnyProjection,
        refused: Mapping[int, str],
        stuck: dict[UUID, int],
    ) -> None:
        self._projection = projection
        self._refused = refused
        self._stuck = stuck
        self._aside: list[Aside] = []
        self._cells: dict[Key, _Cell] = {}

    def run(self, events: Sequence[Found], load: Load) -> Folded:
        keyed: list[tuple[RecordedEvent, list[_Cell]]] = []
        for found in events:
            cells = self._cells_of(found)
            if cells is not None and isinstance(found, RecordedEvent):
                keyed.append((found, cells))
        wanted = {key: cell for key, cell in self._cells.items() if not cell.is_born}
        for key, row in load(wanted.keys()).items():
            wanted[key].before = wanted[key].row = row
        n = sum(self._take(recorded, cells) for recorded, cells in keyed)
        return self._folded(n)

    def _cells_of(self, found: Found) -> list[_Cell] | None:
        """Return the rows that an event may change; None: it is set aside."""
        reason = self._hindrance(found)
        if reason is None and isinstance(found, RecordedEvent):
            try:
                keys = self._projection.keys(found)
                is_birth = self._projection.is_birth(found)
            except Exception as error:  # noqa: BLE001 - whatever a fold may raise
                reason = where(error)
            else:
                return [self._cell(key, is_birth=is_birth) for key in keys]
        self._set_aside(found, reason or "")
        return None

    def _cell(self, key: Key, *, is_birth: bool) -> _Cell:
        cell = self._cells.get(key)
        if cell is None:
            cell = self._cells[key] = _Cell(key, is_born=is_birth)
        return cell

    def _hindrance(self, found: Found) -> str | None:
        if self._stuck and found.stream_id in self._stuck:
            return f"{BEHIND} {self._stuck[found.stream_id]}"
        if self._refused and found.position in self._refused:
            return self._refused[found.position]
        return None if isinstance(found, RecordedEvent) else found.reason

    def _set_aside(self, found: Found, reason: str) -> None:
        self._aside.append(Aside(found=found, reason=reason))
        if self._projection.is_by_stream:
            self._stuck.setdefault(found.stream_id, found.position)

    def _take(self, recorded: RecordedEvent, cells: Sequence[_Cell]) -> bool:
        """Fold one event; the rows of all later ones are known, so it may be stuck."""
        if self._stuck and self._is_behind(recorded):
            return False
        fold = self._projection.fold
        try:
            after = [fold(cell.key, cell.row, recorded) for cell in cells]
        except Exception as error:  # noqa: BLE001 - whatever a fold may raise
            self._stick(recorded, where(error))
            return False
        for cell, row in zip(cells, after, strict=True):
            cell.row = row
        return True

    def _is_behind(self, recorded: RecordedEvent) -> bool:
        first = self._stuck.get(recorded.stream_id, recorded.position)
        if recorded.position <= first:
            return False
        self._set_aside(recorded, f"{BEHIND} {first}")
        return True

    def _stick(self, recorded: RecordedEvent, reason: str) -> None:
        """Set an event aside whose followers may have been set aside before it."""
        self._set_aside(recorded, reason)
        if self._projection.is_by_stream:
            first = min(recorded.position, self._stuck[recorded.stream_id])
            self._stuck[recorded.stream_id] = first

    def _folded(self, events: int) -> Folded:
        changed: list[Any] = []
        born: list[Any] = []
        gone: list[Key] = []
        for cell in self._cells.values():
            if cell.row is None:
                if cell.before is not None:
                    gone.append(cell.key)
            elif cell.is_born:
                born.append(cell.row)
            elif cell.row != cell.before:
                changed.append(cell.row)
        self._aside.sort(key=lambda aside: aside.found.position)
        return Folded(
            changed=changed, born=born, gone=gone, aside=self._aside, events=events
        )
