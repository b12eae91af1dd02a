"""Operators at work: each gives one command after the other, as a person would.

A command is a process of the product's own command line.  What it was meant to do is
written into the diary when it has answered.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import msgspec

from domain.event import JsonObject
from infrastructure.demo.diary import Asked, Diary, Given, Refused
from infrastructure.demo.people.script import Ask, Refund, Step, Tamper, Use, Visit
from infrastructure.demo.people.somebody import Somebody
from infrastructure.demo.processes import Command, DemoProcessError, Ended, Processes
from infrastructure.postgres.database import Connection
from infrastructure.postgres.heads.table import number, text

OPERATORS: Final = ("anna", "boris")

_STANDING: Final = """
SELECT e.customer_id, e.username,
       count(*) FILTER (WHERE o.operation = 'create'),
       count(*) FILTER (WHERE o.state IN ('pending', 'running', 'retrying'))
  FROM counterfoil.entitlements e
  JOIN counterfoil.operations o ON o.entitlement_id = e.stream_id
 WHERE e.customer_id = ANY(%s)
 GROUP BY 1, 2
"""

_ASK_AGAIN: Final = "is changing; ask again"

_OPTIONS: Final[Mapping[str, str]] = {
    "endsAt": "--ends-at",
    "trafficBytes": "--traffic-bytes",
    "deviceLimit": "--device-limit",
    "squadIds": "--squad",
}


@dataclass(frozen=True, slots=True)
class _Customer:
    username: str
    decided: int
    """Orders."""
    unfinished: int
    """Operations."""


@dataclass(slots=True)
class _Underway:
    """A customer's visit, so far."""

    customer: str
    steps: list[Step]


@dataclass(slots=True)
class _Operator:
    name: str
    visits: list[_Underway]
    given: tuple[Command, _Underway, Ask | Refund] | None = None

    @property
    def is_done(self) -> bool:
        return self.given is None and not any(each.steps for each in self.visits)


@dataclass(slots=True)
class Desk:
    """All operators of a demo, and the somebody whose edits they find."""

    connection: Connection
    processes: Processes
    diary: Diary
    somebody: Somebody
    operators: list[_Operator] = field(default_factory=list[_Operator])

    def take(self, visits: Sequence[Visit]) -> None:
        """Share the work out among the operators."""
        for index, name in enumerate(OPERATORS):
            mine = visits[index :: len(OPERATORS)]
            underway = [_Underway(each.customer, list(each.steps)) for each in mine]
            self.operators.append(_Operator(name, underway))

    @property
    def is_done(self) -> bool:
        """Whether every command is given and answered."""
        return all(operator.is_done for operator in self.operators)

    def look(self) -> None:
        """Note what was answered, and let whoever is free give the next command.

        Raises:
            DemoProcessError: a command ended otherwise than it should.
        """
        for operator in self.operators:
            if operator.given is not None:
                command, visit, deed = operator.given
                ended = command.ended()
                if ended is None:
                    continue
                operator.given = None
                self._note(operator.name, visit, deed, ended)
            self._go_on(operator)

    def _go_on(self, operator: _Operator) -> None:
        """Do what is due, up to the next command."""
        for visit, customer in self._ready(operator):
            while visit.steps and _is_due(visit.steps[0], customer):
                deed = visit.steps.pop(0).deed
                match deed:
                    case Tamper():
                        name = customer.username
                        self.somebody.tamper(visit.customer, name, deed.kind)
                    case Use():
                        self.somebody.use_traffic(customer.username, deed.used_bytes)
                    case Ask() | Refund():
                        arguments = _arguments(visit.customer, deed)
                        command = self.processes.command(operator.name, arguments)
                        operator.given = (command, visit, deed)
                        return

    def _ready(self, operator: _Operator) -> Iterator[tuple[_Underway, _Customer]]:
        waiting = [visit for visit in operator.visits if visit.steps]
        names = [visit.customer for visit in waiting]
        standing = {
            text(row[0]): _Customer(text(row[1]), number(row[2]), number(row[3]))
            for row in self.connection.execute(_STANDING, (names,)).fetchall()
        }
        for visit in waiting:
            customer = standing.get(visit.customer)
            if customer is not None and _is_due(visit.steps[0], customer):
                yield visit, customer

    def _note(
        self, operator: str, visit: _Underway, deed: Ask | Refund, ended: Ended
    ) -> None:
        should_fail = isinstance(deed, Ask) and deed.is_refused
        if isinstance(deed, Ask) and _ASK_AGAIN in ended.err:
            # Others changed the same customer meanwhile, and that is on record too.
            visit.steps.insert(0, Step(deed, 0))
            should_fail = True
        if ended.code != (1 if should_fail else 0):
            what = " ".join(_arguments(visit.customer, deed))
            msg = f"`counterfoil {what}` ended with {ended.code}: {ended.err.strip()}"
            raise DemoProcessError(msg)
        if isinstance(deed, Refund):
            self.diary.refunds[deed.order] = deed.reason
            return
        said = (operator, deed.reason, visit.customer, deed.operation)
        if should_fail:
            self.diary.refused.append(Refused(*said))
            return
        answer = msgspec.json.decode(ended.out, type=JsonObject)
        asked = Asked(*said, deed.given, deed.is_hopeless)
        self.diary.asked[str(answer["operationId"])] = asked


def _is_due(step: Step, customer: _Customer) -> bool:
    if customer.decided < step.orders:
        return False
    return customer.unfinished == 0 or not step.is_quiet


def _arguments(customer: str, deed: Ask | Refund) -> list[str]:
    if isinstance(deed, Refund):
        return ["refund", deed.order, "--reason", deed.reason, "--json"]
    key = [] if deed.key is None else ["--key", deed.key]
    return [
        "operate", f"customer:{customer}", deed.operation, *_named(deed.given), *key,
        "--reason", deed.reason, "--json",
    ]  # fmt: skip


def _named(given: Given) -> list[str]:
    named: list[str] = []
    for member, value in given.items():
        values = value if isinstance(value, tuple) else (value,)
        for each in values:
            named += [_OPTIONS[member], str(each)]
    return named
