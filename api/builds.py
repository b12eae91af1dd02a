"""What the edge needs of rebuilding and verifying projections."""

from typing import Protocol

from application.operators.instruction import Instruction
from projections.builds import Abandoned, Rebuilt, Tell, Verified


class Builds(Protocol):
    """Makes read models anew, and compares them with folds of the log."""

    @property
    def names(self) -> tuple[str, ...]:
        """The projections of this version, in their order."""
        ...

    def rebuild(self, name: str, instruction: Instruction, tell: Tell) -> Rebuilt:
        """Make a read model anew and promote it."""
        ...

    def abandon(self, name: str) -> Abandoned:
        """Drop what is half done of a rebuild."""
        ...

    def verify(self, name: str, tell: Tell) -> Verified:
        """Compare a read model with a fold."""
        ...
