"""Goods: one delivery of one order line, bought from a provider at most once."""
