"""Providers of goods as people configure them, and their sealed credentials."""
