"""The book of drifts: cut into episodes at what resolved them."""

from collections.abc import Iterable
from typing import Any

import psycopg

from tests.projections.book.told import Row, Rows, Told, read, streams


def rows(connection: psycopg.Connection[Any], until: int) -> Rows:
    return told(read(connection, until, "entitlement"))


def told(log: Iterable[Told]) -> Rows:
    found: Rows = {}
    for stream_id, events in streams(log).items():
        drifts = [event for event in events if ".drift_" in event.type]
        for kind in {event.data["kind"] for event in drifts}:
            mine = [event for event in drifts if event.data["kind"] == kind]
            if row := over(mine):
                found[stream_id, kind] = row
    return found


def over(events: list[Told]) -> Row | None:
    episodes: list[list[Told]] = [[]]
    for event in events:
        episodes[-1].append(event)
        if event.type == "entitlement.drift_resolved":
            episodes.append([])
    # What was resolved without ever being detected is none.
    whole = [it for it in episodes if it and it[0].type.endswith("detected")]
    if not whole:
        return None
    seen = [event for event in whole[-1] if event.type.endswith("detected")]
    newest = events[-1] if events[-1].type.endswith("resolved") else None
    return {
        "stream_id": events[0].stream_id,
        "kind": events[0].data["kind"],
        "tenant_id": events[0].tenant_id,
        "state": "resolved" if newest else "open",
        "expected": side(seen[-1].data["expected"]),
        "observed": side(seen[-1].data["observed"]),
        "episodes": len(whole),
        "position": seen[0].position,
        "detected_at": seen[0].at,
        "refreshed_at": seen[-1].at,
        "resolved_at": newest.at if newest else None,
        "correlation_id": seen[-1].meta["correlation_id"],
        "created_at": whole[0][0].at,
        "updated_at": events[-1].at,
    }


def side(told: object) -> object:
    return told if isinstance(told, dict) else {"value": told}
