"""The restore guard in a person's words."""

from api.cli.output import aside, say
from api.cli.times import at, distance
from application.operators.quarantine import (
    Guarded,
    GuardState,
    LostPurchase,
    PlaceOf,
    Work,
)
from domain.goods.quarantine import (
    DATABASE,
    JOURNAL,
    OPERATOR,
    RESTORE_COMMAND,
    SYSTEM_IDENTIFIER,
    TIMELINE,
)

_MEANINGS = {
    SYSTEM_IDENTIFIER: "this is another cluster",
    TIMELINE: "this cluster was promoted, or restored to an instant",
    DATABASE: "this database or its tables are copies, as a restored dump makes them",
    JOURNAL: "this host has bought what the log does not know",
    RESTORE_COMMAND: "a script restores",
    OPERATOR: "a person has said so",
}


def show(state: GuardState) -> None:
    """Write where the guard stands, and what there is to do."""
    if state.state == "open":
        say("open: goods are bought")
    else:
        _quarantine(state)
    say(f"the log ends at position {state.position}", _place(state))
    _work(state)


def _quarantine(state: GuardState) -> None:
    planned = ", planned: nothing is marked" if state.is_planned else ""
    say(f"quarantined: nothing is bought{planned}")
    if state.since is not None:
        when = f"{at(state.since)}, {distance(state.since, state.now)}"
        say(f"    since {when}, by {state.engaged_by}")
    say(f"    why: {state.reason}")
    say(*(f"    sign: {each} ({_MEANINGS.get(each, each)})" for each in state.signs))


def _place(state: GuardState) -> str:
    found, stored = _named(state.found), state.stored
    if stored is None:
        return f"{found}; nothing was bought here yet"
    if stored == state.found:
        return f"{found}, as it was approved"
    return f"{found}; approved was {_named(stored)}"


def _named(place: PlaceOf) -> str:
    return (
        f"cluster {place.system_identifier}, timeline {place.timeline}, "
        f"database {place.database_oid}/{place.table_oid}"
    )


def _work(state: GuardState) -> None:
    if state.left:
        one = state.left == 1
        told = "1 delivery is" if one else f"{state.left} deliveries are"
        say(f"{told} neither reconciled nor in review:", *map(_delivery, state.work))
        _more(len(state.work), state.left)
    elif state.state != "open":
        say("nothing is left to reconcile: `counterfoil restore-guard release`")
    if state.in_review:
        say(f"{state.in_review} restored in review: each waits for a person")
    if state.lost_purchases:
        say("purchases that the log lacks:", *map(_lost, state.lost))
        _more(len(state.lost), state.lost_purchases)


def _more(shown: int, count: int) -> None:
    if count > shown:
        aside(f"and {count - shown} more")


def _delivery(work: Work) -> str:
    what = work.key or "never submitted here"
    marked = "to be reconciled" if work.is_marked else "to be marked"
    named = f"order {work.order_id} line {work.line} at {work.provider}"
    return f"    {work.delivery_id}  {work.state}, {marked}: {named}, {what}"


def _lost(lost: LostPurchase) -> str:
    where = f"delivery {lost.delivery_id}" if lost.delivery_id else "no such order here"
    return f"    {lost.key} purchase {lost.purchase} on {lost.host}: {where}"


def tell_engaged(guarded: Guarded) -> None:
    """Write what engaging has done."""
    if guarded.events:
        say("quarantined: nothing is bought from now on")
    else:
        say("nothing to do: it is quarantined already")
    if guarded.marked:
        say(f"marked {guarded.marked} as perhaps bought before")
    _work(guarded.guard)


def tell_released(guarded: Guarded) -> None:
    """Write what releasing has done."""
    if guarded.events:
        say("open: goods are bought again, and this is the place from now on")
    else:
        say("nothing to do: it is open already")
    _work(guarded.guard)
