"""The REST API: routes that parse, ask one use case or one read model, and render.

    bytes ─► envelope (request id, size, HEAD) ─► routing ─► guard (who, may they)
          ─► strict JSON ─► handler in a thread ─► view ─► bytes
    anything that is raised on the way ─► one problem of RFC 9457

A route is declared once (`route`): its permission, what headers it wants, and which
problems it may answer.  Handlers know use cases and read models alone.
"""
