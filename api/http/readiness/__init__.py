"""Whether this process can work now, for whoever sends it requests."""
