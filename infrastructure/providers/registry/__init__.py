"""Which providers of goods there are, read anew for every call."""
