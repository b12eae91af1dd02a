"""Every resource, each with its routes by surface: the only list of them."""

from collections.abc import Callable, Sequence
from typing import Final

from litestar.handlers import HTTPRouteHandler

from api.http.access.routes import routes as access
from api.http.contract.routes import routes as contract
from api.http.deliveries.routes import routes as deliveries
from api.http.entitlements.routes import routes as entitlements
from api.http.hooks.routes import routes as hooks
from api.http.intake.routes import routes as intake
from api.http.jobs.routes import routes as jobs
from api.http.live.routes import routes as live
from api.http.queues.routes import routes as queues
from api.http.records.routes import routes as records
from api.http.surface import Surface
from api.http.workers.routes import routes as workers

type RoutesOf = Callable[[Surface], Sequence[HTTPRouteHandler]]

RESOURCES: Final[tuple[RoutesOf, ...]] = (
    access,
    contract,
    deliveries,
    entitlements,
    hooks,
    intake,
    jobs,
    live,
    queues,
    records,
    workers,
)
