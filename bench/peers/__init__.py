"""Other job queues on PostgreSQL, driven as ours is, over one server.

A queue is driven by processes with one contract, whatever language it is written in:

    COMMAND setup                  make its tables in an empty database, and end
    COMMAND single N               enqueue N jobs one by one
    COMMAND bulk N BATCH           enqueue N jobs, BATCH at a time
    COMMAND transaction N          N transactions with a row of the caller's own,
                                   and N with a job as well, in turns
    COMMAND pickup N SECONDS       enqueue N jobs, SECONDS apart
    COMMAND worker MODE            handle jobs until told to stop

The database is given by the environment: `PEER_URI`, and libpq's own variables.  The
arguments of job n are `{"n": n}`.  Enqueuers print one JSON object.  A worker prints
`ready`, works from the line `go` on its standard input, prints `handled K` while K,
the number of handlers that it has begun, grows, and stops politely when its input
ends.  Its MODE is `noop`, `call` (each handler waits 5 ms, as a provider's answer
would make it) or `pickup` (it ends with one line `began N NANOSECONDS` for each job).
All clocks are the machine's monotonic one.
"""
