"""Windows of maintenance: when work that needs the outside waits, and why."""
