"""Suspects: jobs whose process may have died of them, each run in one of its own.

    claim loop ──► lane ──► slot ──► handler thread ──► forker ──► cell
                                          ▲                          │
                                          └── wire: asks and tells ──┘

The forker is a small process without threads.  It has imported what the handlers need
and forks a cell for each suspect, so a cell costs milliseconds and not the start of an
interpreter.  What kills a cell is proved to be a killer, and kills nothing else.

Between the two stands a keeper, one for each cell, which ends with the cell everything
that the cell has started.
"""
