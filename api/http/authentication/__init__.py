"""Who asks: the credential of a surface, and whether the route may be asked for."""
