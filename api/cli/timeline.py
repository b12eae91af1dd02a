"""Events as lines for a person: when, what, of which stream, how, and by whom."""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Final
from uuid import UUID

from rich.text import Text

from api.cli.output import show_rows
from api.cli.times import at
from domain.members import is_list, is_object
from domain.text import clean, cut
from projections.log_event import LogEvent

_ID_DIGITS: Final = 6
"""The last hex digits of an id; the first ones are a clock."""
_LONGEST: Final = 160
_BAD: Final = frozenset(
    {
        "entitlement.drift_detected",
        "fulfillment.attempt_failed",
        "fulfillment.failed",
        "goods.failed",
        "goods.purchase_refused",
        "goods.purchase_unknown",
        "goods.review_opened",
        "job.attempt_failed",
        "job.discarded",
        "job.lease_expired",
        "operator.action_refused",
    }
)
_GOOD: Final = frozenset(
    {
        "entitlement.drift_resolved",
        "fulfillment.succeeded",
        "goods.delivered",
        "job.succeeded",
        "order.fulfilled",
        "wallet.credited",
    }
)


_STREAMS: Final = {
    "fulfillment": "operation",
    "wallet": "order",
    "addon": "order",
    "goods": "delivery",
}
"""What the streams of some tags are called."""


def label(event: LogEvent) -> str:
    """Return the short name of an event's stream: its kind and its last digits."""
    kind = event.type.partition(".")[0]
    word = _STREAMS.get(kind, kind)
    return f"{word} …{short(event.stream_id)}"


def short(stream_id: UUID) -> str:
    """Return the digits by which a person tells ids apart."""
    return stream_id.hex[-_ID_DIGITS:]


def show_events(events: Iterable[LogEvent], *, of_one_stream: bool = False) -> None:
    """Write events for a person; of one stream with versions instead of its name."""
    where = "version" if of_one_stream else "of"
    names = ("when", "what", where, "how", "by")
    show_rows(
        names,
        [
            (
                Text(at(event.recorded_at)),
                Text(event.type, style=_style(event.type)),
                Text(str(event.version) if of_one_stream else label(event)),
                Text(details(event)),
                Text(actor(event)),
            )
            for event in events
        ],
    )


def _style(tag: str) -> str:
    return "red" if tag in _BAD else "green" if tag in _GOOD else ""


def actor(event: LogEvent) -> str:
    """Return who did it, under which claim, and the reason that was given."""
    meta = event.meta
    parts = [f"{meta.actor.type} {meta.actor.id}"]
    if meta.causation.job is not None:
        claim = f"job …{short(meta.causation.job)}"
        token = meta.causation.token
        parts.append(f"for {claim}" + ("" if token is None else f" token {token}"))
    if meta.reason is not None:
        parts.append(f"because “{meta.reason}”")
    return clean(" ".join(parts))


type Told = Callable[[object], str]


def _as(form: str) -> Told:
    return form.format


def _some(form: str) -> Told:
    return lambda value: form.format(value) if value else ""


def _instant(form: str) -> Told:
    def told(value: object) -> str:
        try:
            return form.format(at(datetime.fromisoformat(str(value))))
        except ValueError:
            return form.format(value)

    return told


def _stream(form: str) -> Told:
    def told(value: object) -> str:
        try:
            return form.format(short(UUID(str(value))))
        except ValueError:
            return form.format(value)

    return told


def _names(form: str) -> Told:
    def told(value: object) -> str:
        names = [str(each) for each in value] if is_list(value) else [str(value)]
        return form.format(", ".join(names)) if names else ""

    return told


def _owner(value: object) -> str:
    return f"on {value.get('host')}:{value.get('pid')}" if is_object(value) else ""


def _observed(value: object) -> str:
    if not is_object(value):
        return ""
    told = _instant("until {}")(value.get("expire_at"))
    return f"panel user {value.get('panel_user_id')} is {value.get('status')} {told}"


def _side(form: str) -> Told:
    """Tell one side of a drift: `{"value": …}`, squads, or a status."""

    def told(value: object) -> str:
        if is_object(value):
            value = next(iter(value.values()), None)
        if value is None:
            value = "none"
        if is_list(value):
            value = ", ".join(str(each) for each in value) or "none"
        if isinstance(value, bool):
            value = "the user" if value else "nobody"
        return form.format(value)

    return told


def _desired(value: object) -> str:
    return _instant("ends {}")(value.get("ends_at")) if is_object(value) else ""


def _sender(value: object) -> str:
    return f"by {value.get('host')}:{value.get('pid')}" if is_object(value) else ""


def _person(form: str) -> Told:
    return lambda value: form.format(value.get("id")) if is_object(value) else ""


_MEMBERS: Final[Mapping[str, Told]] = {
    "order_id": str,
    "action": str,
    "target": str,
    "kind": str,
    "operation": str,
    "customer_id": _as("customer {}"),
    "username": _as("panel user {}"),
    "amount_minor": _as("{} minor units"),
    "currency": str,
    "desired_version": _as("version {}"),
    "desired": _desired,
    "attempt": _as("attempt {}"),
    "code": str,
    "error_code": _as("after {}"),
    "cause": str,
    "error": _as("“{}”"),
    "reason": _as("“{}”"),
    "calls": _names("calls {}"),
    "observed": _observed,
    "owner": _owner,
    "lease_seconds": _as("lease {} s"),
    "run_at": _instant("due {}"),
    "retry_at": _instant("again {}"),
    "crashes": _some("{} crashes"),
    "is_suspect": _some("alone"),
    "until": _instant("until {}"),
    "gate": _as("until the gate {} opens"),
    "parkings": _some("parking {}"),
    "covered_by": _stream("by operation …{}"),
    "args": _names("arguments {}"),
    "result": _names("result {}"),
}
"""How members are told, in this order; members of other names are left to --json."""

_OF_THEIR_OWN: Final[Mapping[str, Mapping[str, Told]]] = {
    "order.fulfilled": {"operation": _stream("by operation …{}")},
    "entitlement.drift_detected": {
        "kind": str,
        "expected": _side("expected {}"),
        "observed": _side("the panel shows {}"),
    },
    "goods.owed": {
        "order_id": str,
        "line": _as("line {}"),
        "provider": _as("at {}"),
        "paid_minor": _as("{} minor units"),
        "currency": str,
    },
    "goods.purchase_submitted": {
        "purchase": _as("purchase {}"),
        "key": _as("key {}"),
        "sender": _sender,
        "deadline": _instant("waits until {}"),
        "expires_at": _instant("begun until {}"),
    },
    "goods.purchase_withdrawn": {"purchase": _as("purchase {}"), "cause": str},
    "goods.purchase_confirmed": {
        "decision": _as("decision {}"),
        "reference": _as("reference {}"),
    },
    "goods.purchase_accepted": {
        "decision": _as("decision {}"),
        "reference": _as("reference {}"),
    },
    "goods.purchase_refused": {
        "decision": _as("decision {}"),
        "failure_class": str,
        "code": str,
        "next_at": _instant("again {}"),
    },
    "goods.purchase_unknown": {
        "decision": _as("decision {}"),
        "code": str,
        "is_sender_gone": _some("its sender has said that its call is over"),
    },
    "goods.sender_ended": {"sender": _sender, "how": str},
    "goods.reconciled": {
        "decision": _as("decision {}"),
        "found": _as("the provider says: {}"),
        "code": str,
        "reference": _as("reference {}"),
        "is_conclusive": _some("conclusive"),
    },
    "goods.decision_proposed": {
        "verdict": str,
        "by": _person("by {}"),
        "is_override": _some("OVERRIDE"),
        "evidence": _as("evidence “{}”"),
    },
    "goods.review_decided": {
        "verdict": str,
        "proposed_by": _person("proposed by {}"),
        "is_override": _some("OVERRIDE: a sender was not known to be dead"),
        "evidence": _as("evidence “{}”"),
    },
    "goods.delivered": {"reference": _as("reference {}")},
    "maintenance.opened": {
        "scope": str,
        "source": str,
        "expected_return": _instant("return expected {}"),
        "notice_en": _as("“{}”"),
    },
}
"""Events whose members mean something else: a stream, the sides of a drift."""


def details(event: LogEvent) -> str:
    """Return what an event says, in words, on one line."""
    told = [
        say(value)
        for name, say in _OF_THEIR_OWN.get(event.type, _MEMBERS).items()
        if (value := event.data.get(name)) is not None and value != ""
    ]
    line = ", ".join(part for part in told if part)
    return cut(" ".join(clean(line).split()), _LONGEST)
