"""Who this process is, to the database and in the log."""

import os
import socket
import uuid

from domain.event import Actor
from domain.jobs.events import Owner


def this_process() -> Owner:
    """Return a new identity; its boot id makes a restart a different owner."""
    return Owner(host=socket.gethostname()[:255], pid=os.getpid(), boot=uuid.uuid4())


def actor_of(owner: Owner) -> Actor:
    """Return the actor that the events of `owner` name."""
    return Actor(type="worker", id=f"{owner.host}:{owner.pid}")
