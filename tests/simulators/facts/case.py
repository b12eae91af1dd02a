"""One fact as it is asked: what is done, and what must be seen then.

The fact's section and words are in `checklist.txt`, under the same id.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

import httpx

from tests.simulators.facts.stage import Stage, response, told

type Act = Callable[[Stage], object]


class Need(Enum):
    """What a case cannot do without, so that it is left out at a real panel."""

    CONTROLS = "the simulator's controls"
    CLOCK = "the simulator's clock"


@dataclass(frozen=True, slots=True)
class Case:
    """One fact: `seen(done(stage))` is a plain value that equals `answer`."""

    fact: str
    done: Act
    answer: object
    needs: Need | None = None


def creating(**members: object) -> Act:
    """Create a user so; see how it is answered."""
    return lambda stage: told(stage.create(**members))


def created(member: str, /, **members: object) -> Act:
    """Create a user so; see one member of what is answered."""
    return lambda stage: stage.born(**members)[member]


def stored(member: str, value: object) -> Act:
    """Create a user with that value; see what became of it, as read back."""
    return lambda stage: stage.get(stage.born(**{member: value}))[member]


def patching(**members: object) -> Act:
    """PATCH a user so; see how it is answered."""
    return lambda stage: told(stage.patch(stage.born(), **members))


def patched(member: str, /, **members: object) -> Act:
    """PATCH a user so; see one member of what is answered."""
    return lambda stage: response(stage.patch(stage.born(), **members))[member]


def status_after_patch(status: str, /, **members: object) -> Act:
    """PATCH a user in that status; see his status in the answer."""
    return lambda stage: response(stage.patch(stage.in_status(status), **members))[
        "status"
    ]


def status_after_action(status: str, action: str, body: object = None) -> Act:
    """Act on a user in that status; see his status in the answer.

    Not as read back: a pass of the panel may come between the two.
    """
    return lambda stage: response(stage.act(stage.in_status(status), action, body))[
        "status"
    ]


def asking(method: str, path: str, body: object = None) -> Act:
    """Ask with the token; see how it is answered."""
    return lambda stage: told(stage.client.request(method, path, json=body))


def words(ask: Callable[[Stage], httpx.Response]) -> Act:
    """Ask; see the message of the answer."""
    return lambda stage: ask(stage).json()["message"]
