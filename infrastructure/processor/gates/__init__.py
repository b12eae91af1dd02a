"""Gates: what waits at a closed one is made due when it opens, by every process.

The gate is read by whoever would begin (`application.fulfillment.begin`), and what it
stops is parked by the settler, like everything that a handler ends.
"""
