"""Carrying one operation to the panel, and how its record follows its job."""
