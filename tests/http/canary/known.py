"""The ids of everything that there is, by the name of the path's parameter."""

from typing import Final

from application.access.tokens import Wanted
from infrastructure.processor.heartbeat import register
from infrastructure.processor.identity import this_process
from tests.fixtures.http import SHELL
from tests.http.access.matrix import NOBODY
from tests.http.canary.asking import Ids
from tests.http.canary.stage import Stage

_IDS: Final = {
    "job_id": "SELECT DISTINCT stream_id FROM events WHERE type LIKE 'job.%'",
    "operation_id": "SELECT 'op_' || stream_id FROM operations",
    "entitlement_id": "SELECT 'ent_' || stream_id FROM entitlements",
    "delivery_id": "SELECT 'dlv_' || stream_id FROM deliveries",
    "letter_id": "SELECT 'dlv_' || stream_id FROM deliveries",
    "order_id": "SELECT 'ord_' || stream_id FROM orders",
    "callback_id": "SELECT 'cbk_' || id FROM provider_callbacks",
    "bulk_id": "SELECT 'blk_' || stream_id FROM bulk_operations",
    "stream_id": "SELECT DISTINCT stream_id FROM events",
    "position": "SELECT position FROM events",
    "audit_id": "SELECT position FROM events WHERE type LIKE 'operator.%'",
}


def known(place: Stage) -> Ids:
    """Return ids of everything; a worker and a token that nobody needs are made."""
    services, connection = place.api.services, place.connection
    owner = this_process()
    with services.database.connection() as lent:
        register(lent, owner, ["mail"])
    wanted = Wanted(
        tenant_id="default",
        name=f"spare-{owner.boot}",
        surface="shop",
        scopes=("jobs:read",),
    )
    token = services.access.tokens.create(wanted, SHELL).token.id
    connection.execute("SET search_path TO counterfoil")
    found = {
        name: [str(each) for (each,) in connection.execute(statement)] or [NOBODY]
        for name, statement in _IDS.items()
    }
    return found | {
        "worker_id": [f"wrk_{owner.boot}"],
        "token_id": [f"tok_{token}"],
        "queue": ["default"],
        "projection": ["jobs"],
        "drift_id": [NOBODY],
    }
