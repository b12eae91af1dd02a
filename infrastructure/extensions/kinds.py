"""Job kinds of other packages, each found right and claimed by one package only."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeIs, cast

from application.admission import refusal_of
from application.job_kinds import AnyKind, JobKind
from infrastructure.errors import ExtensionError
from infrastructure.extensions.entry_points import (
    KINDS,
    REPAIR,
    Entry,
    entries,
    raised,
)
from infrastructure.settings import Settings

_SHAPE: Final = "let it be a JobKind, or a function of the settings that returns some"


@dataclass(frozen=True, slots=True)
class OwnKind:
    """A kind that another package brings."""

    kind: AnyKind
    entry: Entry


@dataclass(frozen=True, slots=True)
class FoundKinds:
    """What the installed packages bring, and what is wrong with the rest."""

    kinds: tuple[OwnKind, ...]
    faults: tuple[ExtensionError, ...]


def find_kinds(settings: Settings) -> FoundKinds:
    """Return the kinds of all packages; an entry point counts whole or not at all."""
    found: dict[str, OwnKind] = {}
    faults: list[ExtensionError] = []
    try:
        installed = entries(KINDS)
    except ExtensionError as fault:
        return FoundKinds((), (fault,))
    for entry in installed:
        try:
            own = _kinds_of(entry, settings)
            _refuse_twins(found, own)
        except ExtensionError as fault:
            faults.append(fault)
        else:
            found |= {each.kind.name: each for each in own}
    return FoundKinds(tuple(found.values()), tuple(faults))


def _kinds_of(entry: Entry, settings: Settings) -> list[OwnKind]:
    """Return the kinds that one entry point leads to.

    Raises:
        ExtensionError: it cannot be loaded, or leads to something else.
    """
    own: list[OwnKind] = []
    for each in _brought(entry, settings):
        if not _is_kind(each):
            problem = f"it leads to {type(each).__name__}, which is no JobKind"
            raise entry.fault(problem, _SHAPE)
        refusal = refusal_of(each)
        if refusal is not None:
            problem = f"job kind {str(each.name)[:127]!r} is refused"
            raise entry.fault(problem, refusal)
        own.append(OwnKind(each, entry))
    return own


def _is_kind(value: object) -> TypeIs[AnyKind]:
    return isinstance(value, JobKind)


def _brought(entry: Entry, settings: Settings) -> Sequence[object]:
    loaded = entry.load()
    if _is_kind(loaded) or not callable(loaded):
        return [loaded]
    try:
        made: object = loaded(settings)
        return list(cast("Iterable[object]", made)) if _is_many(made) else [made]
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        problem = f"its function raised {raised(error)}"
        raise entry.fault(problem, REPAIR) from error


def _is_many(made: object) -> bool:
    return isinstance(made, Iterable) and not isinstance(made, str | Mapping)


def _refuse_twins(found: Mapping[str, OwnKind], own: Sequence[OwnKind]) -> None:
    """Refuse a name that two kinds have, whoever brings them.

    Raises:
        ExtensionError: it names both entry points.
    """
    claimed = {name: each.entry for name, each in found.items()}
    for each in own:
        name = each.kind.name
        if name in claimed:
            first = claimed[name]
            problem = f"job kind {name!r} is claimed by {first.package} as well"
            remedy = f"rename one of them (there it is {first.name}), or uninstall one"
            raise each.entry.fault(problem, remedy)
        claimed[name] = each.entry
