"""Each operation as steps: what it pushes, whom it may make, what it resets.

    create                                  PATCH or POST, reset-traffic if asked for
    reconcile                               PATCH or POST
    extend, set_limits, set_squads, resume  PATCH
    enable, disable, pause                  GET
    reset_traffic                           GET, reset-traffic
    all, then                               enable or disable if the standing is
                                            another, GET after any action, comparison

What pushes nothing looks before it acts: in a panel that was set up anew, an action
by id would reach the stranger who has the id now.  And a look tells whether anything
is left to do: `enable` would switch on an EXPIRED user for half a minute.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from application.ports import (
    Access,
    Confirmed,
    LookAnswer,
    Missing,
    PanelAnswer,
    Rejected,
    Shown,
    Unavailable,
)
from infrastructure.providers.panel.classification import Said
from infrastructure.providers.panel.conversation import (
    USER_NOT_FOUND,
    Conversation,
    Ended,
)
from infrastructure.providers.panel.push import Push, Pushed
from infrastructure.providers.panel.search import found
from infrastructure.providers.panel.standing import acted, stands
from infrastructure.providers.panel.user import PanelUser

MISMATCH: Final = "remnawave_mismatch"
UNSUPPORTED: Final = "unsupported_operation"

NOBODY: Final = "nobody has the known id, the name or the earlier product's name"


class Steps(NamedTuple):
    """What an operation does besides the standing, which all of them see to."""

    pushes: bool = False
    makes: bool = False
    """Whether a user that nobody has is made."""
    resets: bool = False
    """Whether traffic is reset, whatever the desired state says of it."""
    resets_when_desired: bool = False
    """Whether traffic is reset when the desired state says so and the user existed."""


OPERATIONS: Final[Mapping[str, Steps]] = MappingProxyType(
    {
        "create": Steps(pushes=True, makes=True, resets_when_desired=True),
        "reconcile": Steps(pushes=True, makes=True),
        "extend": Steps(pushes=True),
        "set_limits": Steps(pushes=True),
        "set_squads": Steps(pushes=True),
        "resume": Steps(pushes=True),
        "enable": Steps(),
        "disable": Steps(),
        "pause": Steps(),
        "reset_traffic": Steps(resets=True),
    }
)


def looked(conversation: Conversation, access: Access) -> LookAnswer:
    """Return what the panel shows of the user; see `Panel.read`."""
    user = found(conversation, access)
    if user is Said.USER_MISSING:
        return Missing(NOBODY, conversation.requests)
    if isinstance(user, PanelUser):
        return Shown(user.sight(), conversation.requests)
    return user


def carried_out(
    conversation: Conversation, operation: str, access: Access
) -> PanelAnswer:
    """Return what the panel shows after the operation; see `Panel.carry_out`."""
    steps = OPERATIONS.get(operation)
    if steps is None:
        return Rejected(UNSUPPORTED, f"no panel is asked to {operation}")
    if not steps.pushes:
        return _acted_on_found(conversation, access, steps)
    push = Push(conversation, access)
    pushed = push.update()
    if pushed is Said.USER_MISSING:
        pushed = push.create() if steps.makes else _not_found()
    if not isinstance(pushed, Pushed):
        return pushed
    resets = steps.resets_when_desired and access.desired.reset_traffic
    user = acted(
        conversation,
        pushed.user,
        resets=resets and not pushed.is_new,
        is_off=access.is_off,
    )
    if not isinstance(user, PanelUser):
        return user
    differing = push.differing(user, with_expiry=pushed.with_expiry)
    return _judged(user, access, differing)


def _acted_on_found(
    conversation: Conversation, access: Access, steps: Steps
) -> PanelAnswer:
    user: PanelUser | Ended | Said = found(conversation, access)
    if isinstance(user, PanelUser):
        user = acted(conversation, user, resets=steps.resets, is_off=access.is_off)
    if isinstance(user, Said):
        return _not_found()
    return _judged(user, access, ()) if isinstance(user, PanelUser) else user


def _not_found() -> Unavailable:
    # Not for good: a `create` of the same user may be waiting for its next attempt.
    return Unavailable(USER_NOT_FOUND, NOBODY)


def _judged(user: PanelUser, access: Access, differing: tuple[str, ...]) -> PanelAnswer:
    if not stands(user, is_off=access.is_off):
        differing = ("status", *differing)
    if differing:
        detail = f"the panel shows another {', '.join(differing)} than was written"
        return Unavailable(MISMATCH, detail)
    sight = user.sight()
    return Confirmed(sight.observed, sight.squad_ids)
