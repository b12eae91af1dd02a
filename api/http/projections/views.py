"""What is answered about projections."""

import msgspec

from api.http.wire.values import Moment, Position, moment, position
from application.operators.projections import Pause, Switched
from projections.queries.projections import (
    Build,
    Leader,
    Paused,
    ProjectionLine,
    ProjectionPage,
)


class LeaderView(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The process that carries a projection forward, or builds it."""

    host: str
    pid: int


class HeldView(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Since when a projection is paused, by whom and why."""

    at: Moment
    by: str
    reason: str


class BuildView(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What is being made beside it."""

    what: str
    """`rebuild` or `verify`."""
    schema_number: int
    began_at: Moment
    position: Position
    ratio: float
    """Of the log, from 0 to 1."""
    builder: LeaderView | None


class ProjectionView(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One projection."""

    name: str
    state: str
    """`following`, `unowned`, `paused`, `outdated`, `unknown` or `ahead`."""
    position: Position
    """How far its rows have followed the log."""
    lag_positions: int
    lag_seconds: float
    schema_number: int
    expected_schema: int | None
    owner: LeaderView | None
    pause: HeldView | None
    set_aside: int
    """Events that could not be folded, or wait for one that could not."""
    build: BuildView | None


class ProjectionsView(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """All projections."""

    now: Moment
    last: Position
    """Of the log's last event."""
    items: tuple[ProjectionView, ...]
    absent: tuple[str, ...]
    """Those of this version that the database does not know."""


class SwitchedView(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Where a projection stands after somebody has paused or resumed it."""

    name: str
    pause: HeldView | None
    events: tuple[str, ...]
    """Tags of what was written; none: it was so already."""
    tried: int
    """Events that had been set aside and were tried again."""
    left: int
    """Events that are set aside still."""
    position: Position


def projection_view(line: ProjectionLine) -> ProjectionView:
    """Return one projection."""
    return ProjectionView(
        name=line.name,
        state=line.state,
        position=position(line.position),
        lag_positions=line.lag_positions,
        lag_seconds=line.lag_seconds,
        schema_number=line.schema_number,
        expected_schema=line.expected_schema,
        owner=_leader(line.owner),
        pause=_held(line.paused),
        set_aside=line.set_aside,
        build=None if line.build is None else _build(line.build),
    )


def standing_view(page: ProjectionPage, line: ProjectionLine) -> SwitchedView:
    """Return how a projection stands that was paused or resumed before."""
    return SwitchedView(
        name=line.name,
        pause=_held(line.paused),
        events=(),
        tried=0,
        left=line.set_aside,
        position=position(page.last),
    )


def switched_view(done: Switched) -> SwitchedView:
    """Return what was done to a projection."""
    retried = done.retried
    return SwitchedView(
        name=done.projection,
        pause=_held(done.pause),
        events=done.events,
        tried=0 if retried is None else retried.tried,
        left=0 if retried is None else retried.left,
        position=position(done.position),
    )


def _held(pause: Pause | Paused | None) -> HeldView | None:
    if pause is None:
        return None
    return HeldView(at=moment(pause.at), by=pause.by, reason=pause.reason)


def _leader(leader: Leader | None) -> LeaderView | None:
    return None if leader is None else LeaderView(host=leader.host, pid=leader.pid)


def _build(build: Build) -> BuildView:
    return BuildView(
        what=build.what,
        schema_number=build.schema_number,
        began_at=moment(build.began_at),
        position=position(build.position),
        ratio=build.ratio,
        builder=_leader(build.builder),
    )
