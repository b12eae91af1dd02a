"""What a person can do about a letter: what comes first, and which command then."""

from collections.abc import Mapping
from typing import Final

from projections.queries.letters.listing import Letter
from projections.queries.letters.set_aside import SetAside
from projections.read_models.dead_letters import BUYER, DELIVERY

_FIRST: Final[Mapping[str, str]] = {
    "budget_spent": "repair what its attempts met; a retry gives it a fresh budget",
    "deadline_exceeded": "it was too late; a retry runs it without a deadline",
    "undecodable": "run a worker whose kind can read its arguments",
    "unstorable_result": "repair its handler: what it said cannot be stored",
    "worker_crashed": "find out why its processes died; a retry runs it alone",
    "permanent": "its handler said that trying again helps nobody; repair the cause",
    "invalid_desired_state": "cancel it, and ask for another state with `operate`",
}
_OTHERWISE: Final = "remove the cause"
_FIRST_OF_GOODS: Final = (
    "find out whether it was bought (`counterfoil deliveries show ID`), then decide"
)

_REASON: Final = '--reason "…"'


def first(kind: str, code: str) -> str:
    """Return what has to be done before anything is retried or decided."""
    return _FIRST_OF_GOODS if kind == BUYER else _FIRST.get(code, _OTHERWISE)


def verbs(stream_kind: str) -> str:
    """Return what can be asked for: a dead job without a record is not cancelled."""
    match stream_kind:
        case "operation":
            return "retry, cancel"
        case "delivery":
            return "deliveries show"
        case _:
            return "retry"


def commands(letter: Letter) -> tuple[str, ...]:
    """Return the commands that end the letter, as they are now possible."""
    retry = f"counterfoil retry {letter.stream_id} {_REASON}"
    cancel = f"counterfoil cancel {letter.stream_id} {_REASON}"
    if letter.stream_kind == DELIVERY:
        is_failed = letter.delivery is not None and letter.delivery.state == "failed"
        show = f"counterfoil deliveries show {letter.stream_id}"
        return (retry, cancel) if is_failed and letter.twin is None else (show,)
    possible = () if letter.twin is not None else (retry,)
    return (*possible, cancel) if letter.stream_kind == "operation" else possible


def verb(command: str) -> str:
    """Return what a command is called in a line."""
    words = command.split()
    return " ".join(words[1:3]) if words[1] == "deliveries" else words[1]


def resuming(projection: str) -> str:
    """Return the command that tries again what a projection has set aside."""
    return f"counterfoil projections resume {projection}"


def note(letter: Letter) -> str:
    """Return what a person should know about a letter in its line."""
    notes = [
        (letter.acknowledged_by is not None, f"{letter.acknowledged_by} sees to it"),
        (letter.order_id is not None, f"order {letter.order_id}"),
        (letter.customer_id is not None, f"customer {letter.customer_id}"),
        (letter.operation is not None, str(letter.operation)),
        (letter.delivery is not None, _goods(letter)),
        (letter.job_code is not None, f"job {letter.job_code}"),
        (letter.twin is not None, f"no retry while {letter.twin} lives"),
    ]
    of_record = letter.stream_kind != "job"
    return "; ".join(
        told
        for is_so, told in notes
        if is_so and (of_record or not told.startswith("job "))
    )


def _goods(letter: Letter) -> str:
    delivery = letter.delivery
    if delivery is None:
        return ""
    state = delivery.state.replace("_", " ")
    return f"line {delivery.line} at {delivery.provider}, {state}"


def held_back(stream: SetAside) -> str:
    """Return how many events of a stream wait, and for which."""
    behind = stream.events - 1
    waiting = f", {behind} behind it" if behind else ""
    return f"{stream.type} at position {stream.position}{waiting}"
