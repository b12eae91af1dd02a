"""Requests under a key of their caller's: one effect, however often they come (I5)."""
