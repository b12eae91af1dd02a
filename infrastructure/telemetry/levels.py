"""How grave each event is; a test holds this table to everything that is emitted.

error    work is stopped or in doubt, or it is a fault of ours: somebody must look
warning  something went wrong that this process gets over, or that others have to mend
info     what happens all the time, and that something is well again
"""

from collections.abc import Iterable, Mapping
from typing import Final

ERROR: Final = "error"
WARNING: Final = "warning"
INFO: Final = "info"
LEVELS: Final = (INFO, WARNING, ERROR)

ROUNDS: Final = (
    *("rescue", "unparking", "proof of ends"),
    *("restore guard", "marking", "balances"),
)
"""What a worker does every few seconds, as it is called in the log."""


def level_of(event: str) -> str:
    """Return the level of an event; what handlers tell is information."""
    return _LEVELS.get(event, INFO)


def _all(levels: Mapping[str, Iterable[str]]) -> dict[str, str]:
    return {event: level for level, events in levels.items() for event in events}


_LEVELS: Final = _all(
    {
        ERROR: (
            "cells are deaf",
            "check failed",
            "claim failed",
            "clock differs",
            "delivery not marked as restored",
            "events set aside",
            "heartbeat failed",
            "job unsettled",
            "journal cannot be kept",
            "journal cannot be read",
            "notices failed",
            "panel not closed",
            "pending count failed",
            "projecting failed",
            "projection failed",
            "projection outdated",
            "provider unusable",
            "purchase told too late",
            "quarantine engaged",
            "request failed",
            "rescue refused",
            "result unstorable",
            "sample failed",
            "settle failed",
            "thread died",
            "unparking refused",
            *(f"{what} failed" for what in ROUNDS),
        ),
        WARNING: (
            "balance not told",
            "balances not asked",
            "cell not ready",
            "claim lost the database",
            "claim still in doubt",
            "digital goods delivery disabled",
            "handler crashed",
            "health not kept",
            "heartbeat lost the database",
            "job barred",
            "job rescued",
            "lease left to end",
            "lease lost",
            "live feed waits",
            "no cell",
            "notices lost the database",
            "notices unheard",
            "process was frozen",
            "progress unstorable",
            "projecting left to end",
            "projecting lost the database",
            "projection paused",
            "provider gate closed",
            "purchase told late",
            "run lost the database",
            "settle refused",
            "settle waits for the database",
            "slot occupied",
            "suspect died",
            "thread of a handler died",
            "use not stamped",
            *(f"{what} waits for the database" for what in ROUNDS),
        ),
        INFO: (
            "claim adopted",
            "clock agrees again",
            "deliveries marked as restored",
            "job settled",
            "jobs settled",
            "jobs unparked",
            "notices heard",
            "projecting started",
            "projecting stopped",
            "projection follows again",
            "projection led",
            "projection left",
            "provider gate open",
            "provider usable again",
            "senders ended",
            "slot free again",
            "worker started",
            "worker stopped",
            "worker stopping",
        ),
    }
)

KNOWN: Final = frozenset(_LEVELS)
"""Everything that the product emits, but for what handlers tell."""
