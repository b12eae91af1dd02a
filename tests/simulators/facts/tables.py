"""Every case, by the route that it is about."""

from tests.simulators.facts.cases import (
    actions,
    create,
    devices,
    outages,
    patch,
    reads,
    squads,
    stream,
    subscriptions,
    sweeps,
    tokens,
    transport,
)

CASES = (
    *create.CASES,
    *patch.CASES,
    *actions.CASES,
    *reads.CASES,
    *stream.CASES,
    *squads.CASES,
    *devices.CASES,
    *subscriptions.CASES,
    *transport.CASES,
    *tokens.CASES,
    *sweeps.CASES,
    *outages.CASES,
)
