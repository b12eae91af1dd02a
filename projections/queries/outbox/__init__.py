"""What waits to be published: now, and over time.

    recorded (read model, and what it has not read yet) - gone (outbox_gone) = waiting

All three are of one snapshot.  What was recorded behind the checkpoint, or set aside,
is read from the log itself, so the answer is exact however far the projection is
behind, up to `TAIL` events; beyond those it says that it is a lower bound.
"""
