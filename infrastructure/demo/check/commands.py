"""Operators' commands: on record with name and reason, and done or refused."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from infrastructure.demo.check.books import Ask, Books
from infrastructure.demo.diary import Asked, Refused, Said

_BY_OPERATORS: Final = """
SELECT ev.meta->>'commit_id', ev.stream_id::text, ev.type, ev.meta->'actor'->>'id',
       ev.meta->>'reason', ev.data->>'action', ev.data->>'target'
  FROM counterfoil.events ev
 WHERE ev.meta->'actor'->>'type' = 'operator'
   AND ev.type NOT LIKE 'maintenance.%'
   AND ev.type <> 'operator.action_taken'
 ORDER BY ev.position
"""
_OPERATIONS: Final = """
SELECT stream_id::text, operation, state, coalesce(code, '') FROM counterfoil.operations
"""
_REFUNDED: Final = """
SELECT o.order_id, ev.data->>'reason'
  FROM counterfoil.events ev
  JOIN counterfoil.orders o ON o.stream_id = ev.stream_id
 WHERE ev.type = 'order.refunded'
"""


@dataclass(frozen=True, slots=True)
class _Event:
    stream_id: str
    type: str
    actor: str
    reason: str
    action: str
    target: str


def _every_command(books: Books) -> Iterator[str | None]:
    commits: dict[str, list[_Event]] = defaultdict(list)
    for commit, *rest in books.rows(_BY_OPERATORS):
        commits[str(commit)].append(_Event(*(str(each) for each in rest)))
    of_operation = {
        event.stream_id: key
        for key, events in commits.items()
        for event in events
        if event.type == "fulfillment.requested"
    }
    ends = {str(row[0]): row[1:] for row in books.rows(_OPERATIONS)}
    for operation_id, asked in books.diary.asked.items():
        key = of_operation.get(operation_id, "")
        events = commits.pop(key, [])
        yield _asked(asked, events) or _done(asked, ends.get(operation_id, ()))
    for refused in books.diary.refused:
        yield _refused(refused, commits)
    for delivery, verdict in books.diary.verdicts:
        wanted = (delivery, "goods.review_decided", verdict.operator, verdict.reason)
        yield _found(wanted, commits, is_alone=False)
    for configured in books.diary.configured:
        yield _found(configured, commits, is_alone=True)
    for events in commits.values():
        yield f"operator {events[0].actor} did not do what {events[0].type} says"
    yield from _refunds(books)


def _asked(asked: Asked, events: list[_Event]) -> str | None:
    said = {(event.actor, event.reason) for event in events}
    if said != {(asked.operator, asked.reason)}:
        return (
            f"{_told(asked)} by {asked.operator}, {asked.reason}: on record is {said}"
        )
    kinds = {event.type.partition(".")[0] for event in events}
    wanted = {"fulfillment", "job", "entitlement"}
    if asked.operation == "reconcile":
        wanted -= {"entitlement"}
    return None if kinds == wanted else f"{_told(asked)}: on record are {kinds}"


def _done(asked: Asked, end: tuple[object, ...]) -> str | None:
    ends = {("succeeded", ""), ("cancelled", "covered_by")}
    if asked.is_hopeless:
        ends = {("failed", "unknown_squads")}
    if end[:1] == (asked.operation,) and end[1:] in ends:
        return None
    return f"{_told(asked)}: {end}"


def _refused(refused: Refused, commits: dict[str, list[_Event]]) -> str | None:
    for key, events in commits.items():
        said = [(each.type, each.actor, each.reason, each.action) for each in events]
        wanted = ("operator.action_refused", refused.operator, refused.reason)
        at = f"customer:{refused.customer}"
        if said == [(*wanted, refused.operation)] and events[0].target == at:
            del commits[key]
            return None
    return f"{_told(refused)} by {refused.operator}: its refusal is not on record"


def _found(
    wanted: tuple[str, ...], commits: dict[str, list[_Event]], *, is_alone: bool
) -> str | None:
    """Take out the commit that begins with what is wanted; return what is wrong."""
    for key, events in commits.items():
        first = events[0]
        said = (first.stream_id, first.type, first.actor, first.reason)
        if said[-len(wanted) :] == wanted and (len(events) == 1 or not is_alone):
            del commits[key]
            return None
    return f"{wanted} is not on record"


def _told(command: Said) -> str:
    return f"{command.operation} of customer {command.customer}"


def _refunds(books: Books) -> Iterator[str | None]:
    recorded = {str(row[0]): row[1] for row in books.rows(_REFUNDED)}
    for order, reason in books.diary.refunds.items():
        is_right = recorded.pop(order, None) == reason
        yield None if is_right else f"{order}: its refund, {reason}, is not on record"
    for order in recorded:
        yield f"{order}: refunded, but nobody asked for it"


EVERY_COMMAND: Final[tuple[str, Ask]] = (
    "operators' commands on record with name and reason, and done, dead or refused",
    _every_command,
)
