"""Entry points of installed packages, and what they lead to."""

from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import EntryPoint, distributions, entry_points
from typing import Final

from domain.text import storable
from infrastructure.errors import ExtensionError, said

KINDS: Final = "counterfoil.kinds"
"""Group of entry points that lead to job kinds."""

PROVIDERS: Final = "counterfoil.providers"
"""Group of entry points that lead to adapters of providers."""

REPAIR: Final = "repair the package or uninstall it"


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry point of one installed package."""

    point: EntryPoint

    @property
    def package(self) -> str:
        """The distribution and its version."""
        dist = self.point.dist
        return "(unknown)" if dist is None else f"{dist.name} {dist.version}"

    @property
    def name(self) -> str:
        """The group and the name in it, as the package's own file has them."""
        return f"{self.point.group}:{self.point.name}"

    def load(self) -> object:
        """Return what the entry point leads to.

        Raises:
            ExtensionError: its module cannot be imported, or has no such name.
        """
        try:
            loaded: object = self.point.load()
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            raise self.fault(raised(error), REPAIR) from error
        return loaded

    def fault(self, problem: str, remedy: str) -> ExtensionError:
        """Return the error that names this entry point."""
        return ExtensionError(self.package, self.name, problem, remedy)


def entries(group: str) -> list[Entry]:
    """Return the entry points of a group, by package and name.

    Raises:
        ExtensionError: the metadata of some package cannot be read.
    """
    try:
        found = [Entry(point) for point in entry_points(group=group)]
    except Exception as error:
        package = ", ".join(_unreadable()) or "(unknown)"
        raise ExtensionError(package, group, raised(error), REPAIR) from error
    return sorted(found, key=lambda entry: (entry.package, entry.name))


def _unreadable() -> Iterator[str]:
    for each in distributions():
        try:
            _ = each.entry_points
        except Exception:  # noqa: BLE001 - whatever it is, the package is at fault
            yield each.name


def raised(error: BaseException) -> str:
    """Return what somebody else's code has raised: one line, without secrets."""
    return storable(" ".join(said(error).split()))
