"""The domain: what may happen and what follows from it, as pure functions.

May import the standard library and msgspec only: no clock, no randomness, no I/O.
"""
