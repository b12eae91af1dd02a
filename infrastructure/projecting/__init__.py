"""Runs the projections: the log's events in, rows and checkpoint out, together.

    log ──► batch ──► folding (pure, in memory) ──► table   ┐ one transaction, under
                          ▲ rows of known keys ◄── table    │ the checkpoint's lock
                          └─ what cannot be folded ──► aside ┘

Locks, in this order: the projection's row (shared), its checkpoint, its rows.
"""
