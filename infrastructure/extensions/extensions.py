"""All that other packages bring to one process."""

from functools import cached_property

from application.job_kinds import Kinds
from infrastructure.errors import ExtensionError
from infrastructure.extensions.kinds import FoundKinds, find_kinds
from infrastructure.extensions.panel import GuardedPanel, find_panel
from infrastructure.settings import Settings


class Extensions:
    """Other packages' kinds, loaded when first asked for, and a worker's panel."""

    def __init__(self, settings: Settings) -> None:
        """Take the settings that the packages' functions are given."""
        self._settings = settings
        self.panel: GuardedPanel | None = None
        """The adapter in place of ours; only `require` makes it."""

    @cached_property
    def found(self) -> FoundKinds:
        """What the packages bring, and what is wrong with it."""
        return find_kinds(self._settings)

    @property
    def kinds(self) -> Kinds:
        """The kinds by their names."""
        return {each.kind.name: each.kind for each in self.found.kinds}

    @property
    def faults(self) -> tuple[str, ...]:
        """What is wrong, a sentence each."""
        return tuple(str(fault) for fault in self.found.faults)

    def require(self) -> None:
        """Load everything that a worker runs.

        Raises:
            ExtensionError: something is wrong, so no worker may start: half of what
                was installed would let the jobs of the other half wait in silence.
        """
        faults = self.found.faults
        if faults:
            first, n = faults[0], len(faults)
            more = "" if n == 1 else f" (1 of {n} faults; `counterfoil kinds` has all)"
            remedy = first.remedy + more
            raise ExtensionError(first.package, first.entry, first.problem, remedy)
        self.panel = find_panel(self._settings)
