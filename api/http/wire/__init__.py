"""How values look on the wire: ids with their kind, instants, positions."""
