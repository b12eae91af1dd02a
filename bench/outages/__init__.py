"""Throughput before, during and after an outage, and what became of every job.

A paced producer places orders whose jobs two workers handle, and something happens:
PostgreSQL is stopped at once and started again; a worker is killed; a transaction
that has enqueued idles; a transaction keeps an old snapshot.  Everything is told by
journals on one clock, written line by line by whoever did it, and by the tables.

`python -m bench.outages` goes through all of it alone.  The peers' workers run in
an environment of their own, hence this package imports nothing.
"""
