"""Appends and the life of a job, beside the event-sourcing library's own recorder.

    appends      what the batch store, the library's door and plain SQL write per second
    lifecycle    enqueued, claimed and succeeded: our statements and a stock Application
    growth       what an append costs with up to three million events in the log

The stock recorder is the one that an `Application` of `eventsourcing` uses over
PostgreSQL: it numbers events in commit order under a lock of the whole table.
"""

from bench.log.measures import measures

__all__ = ["measures"]
