"""Where a request to the panel can be stopped.

"before" the panel applies it, or "after" it applied and booked it but before it
answers.  By then the book has its row.  A request that goes on is carried out whether
its client lives or not, as on the real panel (remnawave.md 2, "lost answers").
"""

from dataclasses import dataclass
from typing import Literal, NamedTuple

from infrastructure.simulators import holds

type When = Literal["before", "after"]


class Passing(NamedTuple):
    """A request, at one of the places where it can be stopped."""

    method: str
    path: str
    when: When


@dataclass(frozen=True, slots=True)
class HeldRequest:
    """The request that a hold caught."""

    seq: int
    """Its number in the book."""
    method: str
    path: str
    request_id: str | None


type Hold = holds.Hold[Passing, HeldRequest]


class Holds(holds.Holds[Passing, HeldRequest]):
    """All stops that were set."""

    def add(self, method: str, path_prefix: str, when: When) -> Hold:
        """Return a new stop for the next request that fits."""
        verb, prefix = method.upper(), path_prefix.casefold()

        def fits(passing: Passing) -> bool:
            return (
                passing.when == when
                and passing.method == verb
                and passing.path.casefold().startswith(prefix)
            )

        return self.set(fits, f"{verb} {prefix}")
