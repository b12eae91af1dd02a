"""Rows of queues and workers that people change, in PostgreSQL."""
