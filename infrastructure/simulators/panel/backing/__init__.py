"""What stands behind the panel: its API tokens, its Redis, the rows of its database."""
