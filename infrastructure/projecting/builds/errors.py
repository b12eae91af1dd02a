"""Why a build of a read model was not begun, or did not get to its end.

BuildError              nothing that is read was changed
├── NotMigratedError        the database does not know the projection
├── BuildHeldError          another process is at it
├── BuildHalfDoneError      a rebuild is half done where a verification would fold
├── BuildBusyError          somebody holds a lock on its rows for too long
├── AheadError              the live rows have a place that the log never had
├── OutdatedError           other code has folded the rows that are to be compared
├── BuildLostError          another process took over, or dropped it
└── FeedHeldError           the log is not final where the live rows are already
"""

from infrastructure.errors import InfrastructureError


class BuildError(InfrastructureError):
    """A build did not come to its end; what is read is as it was."""

    code = "build_failed"


class NotMigratedError(BuildError):
    """The projection is known here, and not to the database."""

    code = "projection_not_migrated"

    def __init__(self, name: str) -> None:
        """Name it."""
        self.name = name
        super().__init__(
            f"the database does not know {name}: run `counterfoil migrate`; if it has "
            "applied everything, somebody has deleted the row of counterfoil."
            "projections: insert it again (name, and schema 0), then rebuild"
        )


class BuildHeldError(BuildError):
    """Another process rebuilds or verifies it."""

    code = "build_held"

    def __init__(self, name: str, who: str, since: str) -> None:
        """Say who it is, and since when."""
        self.name = name
        self.who = who
        super().__init__(
            f"{name} is being rebuilt or verified by {who}{since}; wait for its end, "
            "or end that process and run this again: what it has done is not lost"
        )


class BuildHalfDoneError(BuildError):
    """A rebuild is half done in the table that a verification needs."""

    code = "build_half_done"

    def __init__(self, name: str, position: int) -> None:
        """Say how far it is, and what can be done."""
        self.name = name
        super().__init__(
            f"a rebuild of {name} is half done, at position {position}: go on with it "
            f"by `counterfoil projections rebuild {name}`, or drop it with --abandon"
        )


class BuildBusyError(BuildError):
    """Another transaction did not let go of what a build needs for a moment."""

    code = "build_busy"

    def __init__(self, name: str) -> None:
        """Name the projection, and how to find out who."""
        self.name = name
        super().__init__(
            f"another transaction holds a lock on rows or tables of {name}; run this "
            "again: what is done is kept; a frozen process lets go within 10 s, and "
            "the view pg_locks shows any other"
        )


class AheadError(BuildError):
    """The live rows claim a place that the log has never had: it was set by hand."""

    code = "projection_ahead"

    def __init__(self, name: str, position: int, last: int) -> None:
        """Say where both are, and the remedy."""
        self.name = name
        super().__init__(
            f"{name} is said to be at position {position}, and the log has reached "
            f"{last}: it follows nothing until then; "
            f"run `counterfoil projections rebuild {name}`"
        )


class OutdatedError(BuildError):
    """The live rows were folded by other code, so a comparison would say nothing."""

    code = "projection_outdated"

    def __init__(self, name: str, has: int, knows: int) -> None:
        """Name both numbers, and the remedy."""
        self.name = name
        super().__init__(
            f"{name} was folded by schema {has} and this version has schema {knows}: "
            f"run `counterfoil projections rebuild {name}`"
        )


class BuildLostError(BuildError):
    """Somebody else has gone on with the build, or has dropped it."""

    code = "build_lost"

    def __init__(self, name: str) -> None:
        """Name the projection."""
        self.name = name
        super().__init__(
            f"another process has taken over what was being made of {name}, has ended "
            "it or dropped it; `counterfoil projections list` shows how it stands"
        )


class FeedHeldError(BuildError):
    """An open transaction holds the log back, below what the live rows have."""

    code = "feed_held"

    def __init__(self, name: str, position: int) -> None:
        """Say where, and how to find out who."""
        self.name = name
        super().__init__(
            f"{name} cannot go on behind position {position}: an open transaction "
            "holds the log back, and `counterfoil projections holders` shows whose; "
            "end it, then run this again"
        )
