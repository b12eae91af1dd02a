"""What can be done in bulk: THE table of verbs, each with its one-by-one use case.

To add a verb, add an entry to `verbs`: whatever it does to one thing has to commit
one group over the unit of work that it is given, also when it is refused.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, override

from application.bulk.port import Glance, ItemUnit
from application.errors import ApplicationError, NotFoundError, StateConflictError
from application.operators.action import Action
from application.operators.instruction import Instruction, as_given
from application.operators.refusals import About, Refusals, about_nothing
from application.unit import Ids, Refused
from domain.access.permissions import Permission
from domain.errors import DomainError
from domain.event import Instant
from domain.operators.events import ActionRefused

WOULD: Final = "would_"
"""Verdicts begin so when the item would be carried out."""

ALREADY: Final = "already_"
"""Verdicts begin so when the thing runs by itself."""

OVER_QUOTA: Final = "over_quota"
"""It would be carried out, if there were room."""

_LIVE: Final = frozenset({"waiting", "running", "pending", "retrying"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Verb:
    """One thing that can be done to many."""

    name: str
    permission: Permission
    """What whoever asks for it must be allowed, beside asking in bulk."""
    needs_room: bool
    act: Callable[[ItemUnit, str, Instruction], None]
    """Do it to the thing with that id, over that unit of work.

    Whatever the unit has not written when this returns, or raises one of our errors,
    was refused without a record.
    """
    look: Callable[[Glance, str, Instruction, Instant], str]
    """Return what would become of it, as it was seen; nothing is locked or written."""


type Verbs = Mapping[str, Verb]


def verbs(ids: Ids, *actions: Action) -> Verbs:
    """Return the table."""
    return {action.verb: _of_action(ids, action) for action in actions}


def _of_action(ids: Ids, action: Action) -> Verb:
    def act(unit: ItemUnit, key: str, instruction: Instruction) -> None:
        late = _Late(unit, ids)
        once = replace(action, units=unit, refusals=late)
        try:
            once(key, instruction)
        except (ApplicationError, DomainError) as error:
            unit.detail = str(error)
            late.tell(action.verb, key, error.code, instruction)

    def look(seen: Glance, key: str, instruction: Instruction, now: Instant) -> str:
        targets = replace(action.targets, streams=seen, history=seen)
        return _verdict(replace(action, targets=targets), key, instruction, now)

    return Verb(
        name=action.verb,
        permission=action.permission,
        needs_room=action.needs_room,
        act=act,
        look=look,
    )


@dataclass(frozen=True, slots=True)
class _Late(Refusals):
    """Records a refusal once everything is known that the item says about it."""

    asked: list[tuple[ActionRefused, Instruction, About]] = field(
        default_factory=list[tuple[ActionRefused, Instruction, About]]
    )

    @override
    def record(
        self, refused: ActionRefused, instruction: Instruction, about: About
    ) -> None:
        self.asked.append((refused, instruction, about))

    def tell(self, verb: str, key: str, code: str, instruction: Instruction) -> None:
        if not self.asked:
            refused = ActionRefused(action=verb, target=as_given(key), code=code)
            self.record(refused, instruction, about_nothing(key, instruction))
        Refusals(self.units, self.ids).record(*self.asked[0])


def _verdict(action: Action, key: str, instruction: Instruction, now: Instant) -> str:
    """Return what the action would say of the thing as it is now."""
    streams = action.targets.streams
    try:
        target = action.targets.find(key)
    except NotFoundError as error:
        return error.code
    except StateConflictError as error:
        return error.state
    if not instruction.sees(target.tenant_id):
        return NotFoundError.code
    heads = {ref: streams.head(ref) for ref in target.refs}
    locked = {ref: head for ref, head in heads.items() if head is not None}
    try:
        changes = action.decide(target, locked, now)
    except DomainError as error:
        return error.code
    if isinstance(changes, Refused):
        _, _, stage = changes.code.partition("_")
        return ALREADY + stage if stage in _LIVE else stage or changes.code
    if not changes:
        return ALREADY + "so"
    key_ = target.unique_key
    twin = None if key_ is None else streams.live_job_with_key(target.tenant_id, key_)
    if action.needs_room and twin is not None and twin != target.job:
        return "live_twin"
    return WOULD + action.verb
