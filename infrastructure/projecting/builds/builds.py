"""What a person can have made of a projection, by its name."""

from dataclasses import dataclass
from typing import Final

from application.errors import NotFoundError
from application.operators.instruction import Instruction
from infrastructure.postgres.database import Database
from infrastructure.projecting.builds.rebuild import Rebuild
from infrastructure.projecting.builds.verify import Verify
from projections.builds import Abandoned, Rebuilt, Tell, Verified
from projections.read_models.all import BY_NAME, AnyProjection

_WHAT: Final = "projection"


@dataclass(frozen=True, slots=True)
class Builds:
    """Rebuilds and verifies the projections of this version."""

    database: Database

    @property
    def names(self) -> tuple[str, ...]:
        """All of them, in their order."""
        return tuple(BY_NAME)

    def rebuild(self, name: str, instruction: Instruction, tell: Tell) -> Rebuilt:
        """Make a read model anew and promote it; see `Rebuild`.

        Raises:
            NotFoundError: there is no projection of that name.
            BuildError: it did not get to its end.
            DatabaseUnavailableError: run it again, it goes on.
        """
        return Rebuild(self.database)(_known(name), instruction, tell)

    def abandon(self, name: str) -> Abandoned:
        """Drop what is half done of a rebuild.

        Raises:
            NotFoundError: there is no projection of that name.
            BuildError: another process is at it.
        """
        return Rebuild(self.database).abandon(_known(name))

    def verify(self, name: str, tell: Tell) -> Verified:
        """Compare a read model with a fold; see `Verify`.

        Raises:
            NotFoundError: there is no projection of that name.
            BuildError: it did not get to its end.
            DatabaseUnavailableError: run it again.
        """
        return Verify(self.database)(_known(name), tell)


def _known(name: str) -> AnyProjection:
    found = BY_NAME.get(name)
    if found is None:
        raise NotFoundError(_WHAT, name)
    return found
