"""`counterfoil queues` and `counterfoil workers`: pauses, limits, and who works."""
