"""Where the panel has a user: under the known id, our name, the legacy name."""

from typing import Literal

from application.ports import Access
from infrastructure.providers.panel.classification import Said
from infrastructure.providers.panel.conversation import Conversation, Ended, unexpected
from infrastructure.providers.panel.user import PanelUser

type Found = PanelUser | Literal[Said.USER_MISSING] | Ended


def found(conversation: Conversation, access: Access) -> Found:
    """Return the user with the known id, else with one of the names."""
    if access.panel_user_id is not None:
        told = conversation.by_id(access.panel_user_id)
        if told is not Said.USER_MISSING:
            return told if isinstance(told, PanelUser) else unexpected(told)
    return found_by_name(conversation, access)


def found_by_name(conversation: Conversation, access: Access) -> Found:
    """Return the user with our name, else with the earlier product's."""
    for name in (access.username, access.legacy_username):
        told = Said.USER_MISSING if name is None else conversation.by_username(name)
        if told is not Said.USER_MISSING:
            return told if isinstance(told, PanelUser) else unexpected(told)
    return Said.USER_MISSING
