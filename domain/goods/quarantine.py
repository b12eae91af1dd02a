"""Whether this database may be an older one than before, so that nothing may be bought.

          a sign, or a person                   a person: nothing is left, or override
 open ─────────────────────────► quarantined ──────────────────────────────► open
                                  │      ▲
                                  └──────┘ another sign

A quarantine that a person engages for a planned switchover is the proof that nothing
was lost: whatever server it is found on has all that was committed before it, and
after it nothing was bought.  So there a new timeline alone says nothing new; any other
sign does, and makes it a quarantine like every other.
"""

from collections.abc import Collection
from typing import Final

import msgspec
from msgspec.structs import replace

SYSTEM_IDENTIFIER: Final = "system_identifier"
"""The cluster is another one."""

TIMELINE: Final = "timeline"
"""The cluster has a new history: it was promoted, or restored to an instant."""

DATABASE: Final = "database"
"""The database or its tables are copies, as a restored dump makes them."""

JOURNAL: Final = "journal"
"""A host's journal holds a purchase that the log lacks."""

RESTORE_COMMAND: Final = "restore_command"
OPERATOR: Final = "operator"

SIGNS: Final = (
    SYSTEM_IDENTIFIER,
    TIMELINE,
    DATABASE,
    JOURNAL,
    RESTORE_COMMAND,
    OPERATOR,
)
"""All signs, in the order in which they are told."""

BY_PEOPLE: Final = (OPERATOR, RESTORE_COMMAND)

_LOSSLESS: Final = frozenset({OPERATOR, TIMELINE})
"""Signs that a planned switchover shows, too."""


class Quarantine(msgspec.Struct, frozen=True, kw_only=True):
    """What the rules remember of the guard."""

    is_engaged: bool = False
    episode: int = 0
    signs: tuple[str, ...] = ()
    is_planned: bool = False


def engaged(
    quarantine: Quarantine, found: Collection[str], *, is_planned: bool = False
) -> Quarantine | None:
    """Return the quarantine after these signs; None: they change nothing."""
    if not found:
        return None
    if not quarantine.is_engaged:
        return Quarantine(
            is_engaged=True,
            episode=quarantine.episode + 1,
            signs=_in_order(found),
            is_planned=is_planned and _LOSSLESS.issuperset(found),
        )
    signs = _in_order({*quarantine.signs, *found})
    stays = quarantine.is_planned and (
        is_planned or (OPERATOR not in found and RESTORE_COMMAND not in found)
    )
    after = replace(
        quarantine, signs=signs, is_planned=stays and _LOSSLESS.issuperset(signs)
    )
    return None if after == quarantine else after


def may_have_lost(quarantine: Quarantine) -> bool:
    """Whether later purchases of what is open may be missing in this database."""
    return quarantine.is_engaged and not quarantine.is_planned


def may_release(quarantine: Quarantine, left: int, *, is_override: bool) -> bool:
    """Whether buying may go on with so many deliveries left undecided."""
    return left == 0 or is_override or not may_have_lost(quarantine)


def _in_order(signs: Collection[str]) -> tuple[str, ...]:
    known = [each for each in SIGNS if each in signs]
    return (*known, *sorted({*signs} - {*SIGNS}))
