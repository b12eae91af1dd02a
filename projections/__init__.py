"""The read models: events in, rows out, queries over the rows; rebuildable from zero.

May import domain and psycopg; application and projections do not know each other.
"""
