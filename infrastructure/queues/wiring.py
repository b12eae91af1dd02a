"""Wire the use cases of queues and workers over one pool of connections."""

from application.queues.control import ControlQueues
from application.queues.drain import DrainWorker
from application.unit import UnitOfWork
from infrastructure.ids import new_id
from infrastructure.postgres.batch_store import Connections
from infrastructure.queues.queues import PostgresQueues
from infrastructure.queues.workers import PostgresWorkers


def control_queues_over(connections: Connections, units: UnitOfWork) -> ControlQueues:
    """Return what pauses, resumes and limits queues."""
    return ControlQueues(PostgresQueues(connections), units, new_id)


def drain_worker_over(connections: Connections, units: UnitOfWork) -> DrainWorker:
    """Return what drains workers."""
    return DrainWorker(PostgresWorkers(connections), units, new_id)
