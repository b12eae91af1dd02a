"""Whose turn it is: what a claim takes, and in which order."""
