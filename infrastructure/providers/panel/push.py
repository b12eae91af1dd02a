"""The whole desired state, written to the user wherever it is found.

 id known ──► PATCH by id ── missing ──┐
 id unknown ───────────────────────────┴► GET by user name, by legacy name
                 found ► PATCH            none ► POST ── name taken ► GET ► PATCH

Only `create` and `reconcile` come to the POST.  Every write carries the absolute
state, so the next attempt may repeat it; inside one attempt none is repeated.  (A
PATCH that was refused for a past expiry wrote nothing, and goes once more without it.)
"""

from dataclasses import dataclass
from datetime import timedelta
from typing import Final, Literal

from application.ports import Access
from infrastructure.providers.panel.classification import Said
from infrastructure.providers.panel.conversation import (
    Conversation,
    Ended,
    Told,
    unexpected,
)
from infrastructure.providers.panel.search import found_by_name
from infrastructure.providers.panel.user import PanelUser, Provision

CLOCK_MARGIN: Final = timedelta(minutes=15)
"""By how much the panel's clock may differ from the database's.

An expiry that is past by more is left out.  One that is ahead by more is never: a
panel that calls it past has a wrong clock, and would keep access that was paid for.
In between the panel has the last word.
"""


@dataclass(frozen=True, slots=True)
class Pushed:
    """A user that the panel has written as asked."""

    user: PanelUser
    is_new: bool
    with_expiry: bool


type Missed = Literal[Said.USER_MISSING]


class Push:
    """One attempt to write the desired state of one user."""

    def __init__(self, conversation: Conversation, access: Access) -> None:
        """Prepare the state; nothing is sent yet."""
        self._conversation = conversation
        self._access = access
        self._provision = Provision.of(access.desired, is_off=access.is_off)
        ahead = self._provision.expire_at - access.at
        self._sends_expiry = ahead > -CLOCK_MARGIN
        """Whether updates say the expiry: never one that the panel calls past."""
        self._may_be_past = ahead <= CLOCK_MARGIN

    def update(self) -> Pushed | Missed | Ended:
        """Return the user as written, or that nobody has the id or the names."""
        known = self._access.panel_user_id
        if known is not None:
            updated = self._updated(known)
            if updated is not Said.USER_MISSING:
                return updated
        found = found_by_name(self._conversation, self._access)
        return self._adopted(found) if isinstance(found, PanelUser) else found

    def create(self) -> Pushed | Ended:
        """Return the new user, or the one that had its name first."""
        told = self._told_of_new()
        if told is Said.USERNAME_TAKEN:
            # Somebody was faster, perhaps an earlier request of ours.
            told = self._conversation.by_username(self._access.username)
            if isinstance(told, PanelUser):
                return self._adopted(told)
        elif isinstance(told, PanelUser):
            return Pushed(told, is_new=True, with_expiry=True)
        return unexpected(told)

    def differing(self, user: PanelUser, *, with_expiry: bool) -> tuple[str, ...]:
        """Return the names of the members that the user does not show as written."""
        return self._provision.missing_in(user, with_expiry=with_expiry)

    def _adopted(self, user: PanelUser) -> Pushed | Ended:
        updated = self._updated(user.id)
        return unexpected(updated) if isinstance(updated, Said) else updated

    def _updated(self, user_id: int) -> Pushed | Missed | Ended:
        told = self._told_of_old(user_id)
        if told is Said.EXPIRY_PAST and self._sends_expiry and self._may_be_past:
            self._sends_expiry = False
            told = self._told_of_old(user_id)
        if isinstance(told, PanelUser):
            return Pushed(told, is_new=False, with_expiry=self._sends_expiry)
        return told if told is Said.USER_MISSING else unexpected(told)

    def _told_of_new(self) -> Told:
        body = self._provision.body(with_expiry=True, username=self._access.username)
        return self._conversation.write("POST", body, self._provision.squads)

    def _told_of_old(self, user_id: int) -> Told:
        body = self._provision.body(with_expiry=self._sends_expiry, id=user_id)
        return self._conversation.write("PATCH", body, self._provision.squads)
