"""How the installation stands, as gauges: looked up by a clock, never by a scrape.

    sampler, every 5 s, over a connection of its own ──► looks ──► sample ──► /metrics
                                                          each with its bounded query

Every process exports the same values: dashboards use `max by (…)`, never a sum.
"""
