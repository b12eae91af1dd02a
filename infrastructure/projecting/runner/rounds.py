"""A batch of each projection in turn, and a rest for those that cannot go on.

advanced, more is there    again in the next round
up to date                 again when the log has grown
overtaken                  again in 0.2 s: somebody else writes the same batch
paused                     looked at again in a second
outdated                   left to whoever has the code of its rows, for a minute
failed                     the others go on; tried again after 0.5 s … 30 s
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Final, Protocol, assert_never

from domain.errors import CounterfoilError
from infrastructure.errors import DatabaseUnavailableError, where
from infrastructure.processor.leases import boottime
from infrastructure.projecting.advanced import Advanced, State
from infrastructure.projecting.runner.episodes import Episodes
from infrastructure.telemetry import emit, measure
from infrastructure.telemetry.measures import ProjectionFailed
from projections.read_models.all import AnyProjection

BATCH: Final = 1_000
"""Positions of one batch.  A few hundredths of a second: so long a stop, a renewal and
the other projections wait at most."""

_LOOK_AGAIN_SECONDS: Final = 1.0
_SHUNNED_SECONDS: Final = 60.0
_OVERTAKEN_SECONDS: Final = 0.2
"""Whoever has the checkpoint may be frozen with it: then it is free after 10 s."""

_FIRST_REST_SECONDS: Final = 0.5
_LONGEST_REST_SECONDS: Final = 30.0
_TELL_AGAIN_SECONDS: Final = 60.0


class Advances(Protocol):
    """Carries a projection forward; implemented by the projector."""

    def advance(
        self,
        projection: AnyProjection,
        *,
        slot: str | None = None,
        until: int | None = None,
        most: int = BATCH,
    ) -> Advanced:
        """Return what one batch has done, committed."""
        ...


@dataclass(slots=True)
class _Standing:
    """How one projection does, in this process."""

    look_at: float = 0.0
    rest: float = _FIRST_REST_SECONDS
    aside: int = 0
    """Events set aside since that was last told."""
    tell_aside_at: float = 0.0
    shunned_until: float = 0.0


class Rounds:
    """Carries several projections forward; of one thread."""

    def __init__(
        self,
        projector: Advances,
        projections: Mapping[str, AnyProjection],
        *,
        batch: int = BATCH,
        elapsed: Callable[[], float] = boottime,
    ) -> None:
        """Carry `projections` forward, which are found by their names."""
        self._projector = projector
        self._projections = projections
        self._batch = batch
        self._elapsed = elapsed
        self._standings = {name: _Standing() for name in projections}
        self._episodes = Episodes(elapsed)

    def is_shunned(self, name: str) -> bool:
        """Whether it is of no use to lead it: its rows are not of this code."""
        return self._elapsed() < self._standings[name].shunned_until

    def carry(self, name: str, until: int, probe: Callable[[], None]) -> bool:
        """Return whether there is more to do up to position `until`, after a batch.

        Whatever is wrong with it is its own affair: told, and tried again later.
        `probe` raises when the database is away, which is nobody's fault.

        Raises:
            DatabaseUnavailableError: what `probe` raised.
        """
        standing = self._standings[name]
        if self._elapsed() < standing.look_at:
            return False
        try:
            advanced = self._projector.advance(
                self._projections[name], until=until, most=self._batch
            )
        except DatabaseUnavailableError as error:
            probe()
            self._fail(name, standing, str(error))
            return False
        except Exception as error:  # noqa: BLE001 - the projector loop: one projection must not end the others
            ours = isinstance(error, CounterfoilError)
            self._fail(name, standing, str(error) if ours else where(error))
            return False
        return self._judged(name, standing, advanced) and advanced.position < until

    def _judged(self, name: str, standing: _Standing, advanced: Advanced) -> bool:
        """Whether the projection has got on, after telling what hinders it."""
        match advanced.state:
            case State.ADVANCED:
                self._count_aside(name, standing, advanced.set_aside)
            case State.UP_TO_DATE | State.MOVED:
                self._count_aside(name, standing, 0)
            case State.OVERTAKEN:
                standing.look_at = self._elapsed() + _OVERTAKEN_SECONDS
            case State.PAUSED:
                self._episodes.tell(name, "projection paused")
                standing.look_at = self._elapsed() + _LOOK_AGAIN_SECONDS
                return False
            case State.OUTDATED:
                self._episodes.tell(name, "projection outdated")
                standing.shunned_until = self._elapsed() + _SHUNNED_SECONDS
                return False
            case State.BUSY | State.ABSENT:
                self._fail(name, standing, _HINDERED[advanced.state])
                return False
            case _:
                assert_never(advanced.state)
        standing.rest = _FIRST_REST_SECONDS
        self._episodes.end(name)
        return advanced.state is State.ADVANCED

    def _fail(self, name: str, standing: _Standing, error: str) -> None:
        measure(ProjectionFailed(name))
        self._episodes.tell(name, "projection failed", error=error)
        standing.look_at = self._elapsed() + standing.rest
        standing.rest = min(standing.rest * 2, _LONGEST_REST_SECONDS)

    def _count_aside(self, name: str, standing: _Standing, n: int) -> None:
        standing.aside += n
        now = self._elapsed()
        if standing.aside and now >= standing.tell_aside_at:
            emit("events set aside", projection=name, n=standing.aside)
            standing.aside = 0
            standing.tell_aside_at = now + _TELL_AGAIN_SECONDS


_HINDERED: Final[Mapping[State, str]] = {
    State.BUSY: "others hold locks on its rows",
    State.ABSENT: "it has no row in counterfoil.projections",
}


def with_roles(names: Collection[str]) -> Mapping[str, str]:
    """Return the role of each projection, and which projection it is of."""
    return {f"projection:{name}": name for name in names}
