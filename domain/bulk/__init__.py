"""Bulk operations: one action on many things, previewed, and carried out one by one."""
