"""Why a read model is not where a read wants it, and what can be done about it.

InfrastructureError
├── PositionAheadError     the log has no such position
└── BehindError            the read model is not there
    ├── PausedError            a person has paused it
    ├── OutdatedError          its rows are of other code
    └── NotReachedError        not in time: held back, or nobody projects
"""

from typing import Final, NamedTuple

from domain.event import Instant
from infrastructure.errors import InfrastructureError
from infrastructure.leadership import holder_of
from infrastructure.log.horizon import Lend
from projections.queries.holders import FeedHolders, Holder

_LIST: Final = "`counterfoil projections list`"


class PositionAheadError(InfrastructureError):
    """Nothing in the log has had the position that was asked for."""

    code = "position_ahead"

    def __init__(self, position: int, last: int) -> None:
        """Tell what was asked for, and how far the log is."""
        self.position = position
        self.last = last
        super().__init__(
            f"{self.code}: position {position} is beyond the log, which reaches "
            f"{last}; give the `position` of an answer of this installation"
        )


class BehindError(InfrastructureError):
    """A read model is not at the position that a read asked for."""

    def __init__(
        self, projection: str, asked: int, reached: int, cause: str, remedy: str
    ) -> None:
        """Tell how far it is, why, and what to do."""
        self.projection = projection
        self.asked = asked
        self.reached = reached
        super().__init__(
            f"{self.code}: {projection} is at position {reached} of the log, not yet "
            f"at {asked}: {cause}; {remedy}"
        )


class PausedError(BehindError):
    """Its projection is paused: waiting would not help."""

    code = "projection_paused"

    def __init__(  # noqa: PLR0913 - who paused it, when and why
        self,
        projection: str,
        asked: int,
        reached: int,
        *,
        since: Instant,
        by: str,
        reason: str,
    ) -> None:
        """Name who paused it."""
        super().__init__(
            projection,
            asked,
            reached,
            f"paused by {by} at {since:%Y-%m-%d %H:%M:%S}Z ({reason})",
            f"`counterfoil projections resume {projection}` lets it go on",
        )


class OutdatedError(BehindError):
    """Its rows were folded by other code, which this one does not carry on."""

    code = "projection_outdated"

    def __init__(
        self, projection: str, asked: int, reached: int, *, schema: int
    ) -> None:
        """Name the code."""
        super().__init__(
            projection,
            asked,
            reached,
            f"its rows are of schema {schema}, which is not this version's",
            f"`counterfoil projections rebuild {projection}`",
        )


class NotReachedError(BehindError):
    """It did not get there in the time that the read had."""

    code = "position_not_reached"

    def __init__(
        self, projection: str, asked: int, reached: int, *, seconds: float, why: "Why"
    ) -> None:
        """Tell how long was waited."""
        self.seconds = seconds
        cause = f"waited for {seconds:g} s, but {why.cause}"
        super().__init__(projection, asked, reached, cause, why.remedy)


class Why(NamedTuple):
    """What keeps a read model from a position, and what can be done."""

    cause: str
    remedy: str


def why_behind(lend: Lend, projection: str, asked: int) -> Why:
    """Return what keeps a projection from a position that the log has."""
    feed = FeedHolders(lend)()
    if feed.horizon < asked and feed.holders:
        first, *others = feed.holders
        return Why(
            f"the log is final only up to {feed.horizon}: {_named(first)}"
            + (f", and {len(others)} more" if others else ""),
            "end what is open; `counterfoil projections holders` names it",
        )
    with lend() as connection:
        leader = holder_of(connection, f"projection:{projection}")
    if leader is None:
        return Why("no process runs projections", "start `counterfoil worker` or `up`")
    return Why(
        f"process {leader.pid} on {leader.host} is still at it",
        f"ask again; {_LIST} tells how far it is",
    )


def _named(holder: Holder) -> str:
    who = (
        f"prepared transaction {holder.gid}"
        if holder.pid is None
        else f"the transaction of pid {holder.pid}"
    )
    application = "" if holder.application is None else f" ({holder.application})"
    age = "" if holder.age_seconds is None else f" for {holder.age_seconds:.0f} s"
    return f"{who}{application} has been open{age}"
