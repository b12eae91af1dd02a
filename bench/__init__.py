"""The bench: what Counterfoil does per second, beside the same rows written by SQL.

One run is one embedded PostgreSQL with default durability in a folder of its own.
All measures are taken in every round, one after the other, so that a machine that
is slower for a while is slower for everybody; a ratio is taken within its round.
"""
