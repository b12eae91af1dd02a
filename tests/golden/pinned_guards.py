"""One event of every tag of the guards, as it was first written (see `pinned`)."""

from domain.event import Event
from domain.operators import events as operators

GUARDS: tuple[Event, ...] = (
    operators.RestoreDetected(
        episode=2,
        signs=("system_identifier", "journal"),
        is_planned=False,
        lost_purchases=3,
        position=1_041,
    ),
    operators.RestoreReleased(episode=2, is_override=True, left=1, position=1_060),
)
