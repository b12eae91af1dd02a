"""Connections that are kept for the short units of work."""
