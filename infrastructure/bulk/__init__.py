"""Bulk operations in PostgreSQL: their items, and what they are chosen from."""
