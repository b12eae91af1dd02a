"""`counterfoil outbox`: what waits to be published, now and over time."""
