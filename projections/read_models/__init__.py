"""Read models: one module each; events in, rows out.

Nothing here can do anything but compute: no connection, no clock, no randomness, no
file.  So a replay has no side effects, by construction.
"""
