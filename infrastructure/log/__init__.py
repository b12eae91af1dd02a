"""Reading the log in order, and the event-sourcing library's door to it.

Positions come from a sequence and are not commit-ordered, so everything here reads
`position <= horizon`, the horizon fetched in a statement of its own before (the
proof is in docs/architecture.md).

    horizon ──► follower                     the product's own readers
       └──────► recorder ──► subscription    the library: Application, notification
       mapper ◄────┘                         log, subscriptions, runners
    checkpoints                              how far a projection has read
"""
