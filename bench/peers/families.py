"""The families of measures that one command runs, round by round."""

import importlib
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Final, cast

from bench.child import BenchError
from bench.ground import Ground
from bench.lines import Measure
from bench.peers import measures as peers
from bench.peers.field import Fields
from bench.peers.system import System
from bench.sizes import Sizes

type Given = Sequence[Measure] | AbstractContextManager[Sequence[Measure]]

PEERS: Final = "peers"
_OTHERS: Final = ("claims", "lists", "log", "outages", "projections")
_MOST_ROUNDS: Final = {"lists": 2, "outages": 1, "projections": 3}
"""Of families whose one round takes minutes; the report tells how many it had."""


@dataclass(frozen=True, slots=True)
class Planned:
    """A measure, and how many rounds it takes part in."""

    family: str
    measure: Measure
    rounds: int


def known() -> list[str]:
    """Return the names of all families that are there."""
    return [PEERS, *(name for name in _OTHERS if find_spec(f"bench.{name}"))]


@contextmanager
def planned(
    place: Ground,
    sizes: Sizes,
    families: Sequence[str],
    systems: Sequence[System],
    fields: Fields,
) -> Generator[list[Planned]]:
    """Give the measures of `families`, prepared."""
    with ExitStack() as stack:
        plan: list[Planned] = []
        for family in families:
            given: Given
            if family == PEERS:
                given = peers.measures(place, sizes, systems, fields)
            else:
                given = _measures_of(family)(place, sizes)
            if isinstance(given, AbstractContextManager):
                given = stack.enter_context(given)
            rounds = min(sizes.rounds, _MOST_ROUNDS.get(family, sizes.rounds))
            plan += [Planned(family, measure, rounds) for measure in given]
        names = [each.measure.name for each in plan]
        if twice := {name for name in names if names.count(name) > 1}:
            msg = f"two measures are called {', '.join(sorted(twice))}"
            raise BenchError(msg)
        yield plan


def _measures_of(family: str) -> Callable[[Ground, Sizes], Given]:
    package = importlib.import_module(f"bench.{family}")
    if not hasattr(package, "measures") or find_spec(f"bench.{family}.measures"):
        package = importlib.import_module(f"bench.{family}.measures")
    return cast("Callable[[Ground, Sizes], Given]", package.measures)
