"""`deliveries`: goods that are owed, what became of them, and what a person decides."""
