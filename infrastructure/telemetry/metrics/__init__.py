"""Metrics for Prometheus: each family is declared beside the code that sets it.

    measure, emit ──► meter ──► jobs, log, edges …      counters of this process
    sampling ─────────────────► sampled                 gauges of the installation

Nothing here asks anybody anything: a scrape reads what is there.
"""
