"""Looks whether an installation is well, changes nothing, and says what would help.

settings ─► database ─► schema ─► what only a whole schema can tell ─► outside
"""
