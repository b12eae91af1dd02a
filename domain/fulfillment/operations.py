"""The ten operations on a panel user, by their stored words.

create                            adopt or create, push everything; by settlements
reconcile                         look, record what differs, then as create
extend, set_limits, set_squads    push everything to a user that exists
enable, disable, pause, resume    the standing; resume pushes everything before it
reset_traffic                     what was used is nothing again
"""

from typing import Final

CREATE: Final = "create"
"""The one operation that can stand for earlier ones: it is asked for by every
settlement, with the absolute state that the customer is owed then."""

RECONCILE: Final = "reconcile"
"""The one that moves no desired version: it is about the state that there is."""

EXTEND: Final = "extend"
SET_LIMITS: Final = "set_limits"
SET_SQUADS: Final = "set_squads"
ENABLE: Final = "enable"
DISABLE: Final = "disable"
RESET_TRAFFIC: Final = "reset_traffic"
PAUSE: Final = "pause"
RESUME: Final = "resume"

BY_OPERATORS: Final = (
    EXTEND,
    SET_LIMITS,
    SET_SQUADS,
    ENABLE,
    DISABLE,
    RESET_TRAFFIC,
    PAUSE,
    RESUME,
    RECONCILE,
)
"""What a person may ask for; `create` is what a settlement asks for."""

KNOWN: Final = frozenset({CREATE, *BY_OPERATORS})
