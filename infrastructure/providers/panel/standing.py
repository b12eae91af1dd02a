"""The standing: a user shows DISABLED exactly when its access is off.

Absolute, like the rest of the desired state, and the same for every operation
(ADR 0016).  EXPIRED and LIMITED are no standing: they are what the panel makes of
time and traffic, and whoever is not off may show them.
"""

from infrastructure.providers.panel.classification import Said
from infrastructure.providers.panel.conversation import Conversation, Ended, unexpected
from infrastructure.providers.panel.user import DISABLED, PanelUser


def stands(user: PanelUser, *, is_off: bool) -> bool:
    """Return whether the user shows the standing that is asked for."""
    return (user.status == DISABLED) == is_off


def acted(
    conversation: Conversation, user: PanelUser, *, resets: bool, is_off: bool
) -> PanelUser | Ended:
    """Return the user after the actions it needs, as the panel shows it then."""
    is_touched = False
    if resets:
        told = conversation.act(user.id, "reset-traffic")
        if not isinstance(told, PanelUser):
            return unexpected(told)
        user, is_touched = told, True
    if not stands(user, is_off=is_off):
        told = conversation.act(user.id, "disable" if is_off else "enable")
        # Somebody was faster: the same end, which the GET has to confirm.
        if not isinstance(told, PanelUser) and told is not Said.ALREADY_SO:
            return unexpected(told)
        is_touched = True
    if not is_touched:
        return user
    told = conversation.by_id(user.id)
    return told if isinstance(told, PanelUser) else unexpected(told)
