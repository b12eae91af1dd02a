"""The book of entitlements: what each column says is what was said of it last."""

from collections.abc import Iterable, Sequence
from datetime import UTC
from typing import Any

import psycopg

from tests.projections.book.told import (
    Row,
    Rows,
    Told,
    common,
    instant,
    last,
    member,
    read,
    streams,
)

OWED = ("entitlement.desired_changed", "entitlement.resumed")
VERSIONED = (
    *OWED,
    "entitlement.paused",
    "entitlement.disabled",
    "entitlement.enabled",
)
SEEN = "entitlement.observed"


def rows(connection: psycopg.Connection[Any], until: int) -> Rows:
    return told(read(connection, until, "entitlement"))


def told(log: Iterable[Told]) -> Rows:
    return {(stream_id,): row(events) for stream_id, events in streams(log).items()}


def row(events: Sequence[Told]) -> Row:
    granted = events[0].data
    paused_at = paused(events)
    disabled = disabled_version(events)
    state = "live" if disabled is None else "disabled"
    return (
        common(events)
        | {name: granted[name] for name in ("customer_id", "slot", "username")}
        | {
            "state": state if paused_at is None else "paused",
            "paused_at": paused_at,
            "disabled_version": disabled,
            "enables_at": enables_at(events),
            "desired_version": last(
                events, dict.fromkeys(VERSIONED, member("desired_version")), 0
            ),
            "drifts": drifts(events),
        }
        | owed([event for event in events if event.type in OWED])
        | seen([event for event in events if event.type == SEEN])
    )


def paused(events: Sequence[Told]) -> object:
    told = last(
        events,
        {
            "entitlement.paused": member("paused_at"),
            "entitlement.desired_changed": lambda it: it.data.get("paused_at"),
            "entitlement.resumed": None,
        },
    )
    return instant(told)


def disabled_version(events: Sequence[Told]) -> Any:  # noqa: ANN401 - or None
    return last(
        events,
        {
            "entitlement.disabled": member("desired_version"),
            "entitlement.enabled": None,
        },
    )


def enables_at(events: Sequence[Told]) -> object:
    """Of what was settled for later after the disabling, when the first comes."""
    switches = ("entitlement.disabled", "entitlement.enabled")
    for n in reversed(range(len(events))):
        if events[n].type in switches:
            return None
        if events[n].type in OWED:
            disabled = disabled_version(events[:n])
            if disabled is None:
                return None
            return first_of(
                it
                for it in events[n].data.get("upcoming", ())
                if it["version"] > disabled
            )
    return None


def first_of(upcoming: Iterable[dict[str, Any]]) -> object:
    return min((instant(it["effective_at"]) for it in upcoming), default=None)  # type: ignore[type-var] # never None there


def owed(events: Sequence[Told]) -> Row:
    if not events:
        told: dict[str, Any] = {}
        upcoming: list[dict[str, Any]] = []
    else:
        told = events[-1].data["desired"]
        upcoming = events[-1].data.get("upcoming", [])
    planned = (
        max(upcoming, key=lambda it: it["version"])["desired"] if upcoming else told
    )
    return {
        "ends_at": instant(told.get("ends_at")),
        "planned_ends_at": instant(planned.get("ends_at")),
        "changes_at": first_of(upcoming),
        "grace_seconds": told.get("grace_seconds", 0),
        "traffic_bytes": told.get("traffic_bytes"),
        "device_limit": told.get("device_limit"),
        "squads": len(told.get("squad_ids", ())),
    }


def seen(events: Sequence[Told]) -> Row:
    shown = events[-1].data["observed"] if events else {}
    return {
        "panel_user_id": shown.get("panel_user_id"),
        "observed_status": shown.get("status"),
        "observed_expire_at": instant(shown.get("expire_at")),
        "observed_traffic_bytes": shown.get("traffic_limit_bytes"),
        "observed_device_limit": shown.get("device_limit"),
        "observed_squads": shown.get("squads"),
        "observed_at": events[-1].at if events else None,
    }


def drifts(events: Sequence[Told]) -> Row:
    """The kinds that were detected after they were resolved last, since when."""
    found: Row = {}
    for kind in {it.data["kind"] for it in events if ".drift_" in it.type}:
        mine = [it for it in events if it.data.get("kind") == kind]
        resolved = [n for n, it in enumerate(mine) if it.type.endswith("resolved")]
        episode = mine[resolved[-1] + 1 :] if resolved else mine
        if episode:
            found[kind] = episode[0].at.astimezone(UTC).isoformat()
    return found
