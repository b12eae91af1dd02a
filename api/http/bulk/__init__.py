"""Bulk operations over HTTP: asked for, previewed, steered, and looked at."""
