"""One settled order: what was paid, and that it was fulfilled."""
