"""Every resource, each with its routes by surface: the only list of them."""

from collections.abc import Callable, Sequence
from typing import Final

from litestar.handlers import HTTPRouteHandler

from api.http.access.routes import routes as access
from api.http.bulk.routes import routes as bulk
from api.http.contract.routes import routes as contract
from api.http.deliveries.routes import routes as deliveries
from api.http.drifts.routes import routes as drifts
from api.http.entitlements.routes import routes as entitlements
from api.http.events.routes import routes as events
from api.http.hooks.routes import routes as hooks
from api.http.intake.routes import routes as intake
from api.http.jobs.routes import routes as jobs
from api.http.letters.routes import routes as letters
from api.http.live.routes import routes as live
from api.http.maintenance.routes import routes as maintenance
from api.http.outbox.routes import routes as outbox
from api.http.projections.routes import routes as projections
from api.http.queues.routes import routes as queues
from api.http.readiness.routes import routes as readiness
from api.http.records.routes import routes as records
from api.http.surface import Surface
from api.http.workers.routes import routes as workers

type RoutesOf = Callable[[Surface], Sequence[HTTPRouteHandler]]

RESOURCES: Final[tuple[RoutesOf, ...]] = (
    access,
    bulk,
    contract,
    deliveries,
    drifts,
    entitlements,
    hooks,
    events,
    intake,
    jobs,
    letters,
    live,
    maintenance,
    outbox,
    projections,
    queues,
    records,
    workers,
    readiness,
)
