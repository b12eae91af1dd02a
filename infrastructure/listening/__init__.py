"""The internal listener: what machines ask a process about itself.

    /livez, /healthz   whether its loops come round: restart it if not
    /readyz            whether it can work now: send it nothing if not
    /startupz          whether it has started: wait, before any of the others
    /metrics           numbers of this process, and of the installation

    listener ──► door ──► probes ──► checks     each bounded, its answer kept for 2 s
                   └────► the metrics' registry

It has a port of its own and no authentication: it is never to be reached from where the
API is.
"""
