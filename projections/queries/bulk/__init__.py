"""Bulk operations and their items, as their own tables tell them: never behind."""
