"""Goods, wired: the kinds of job that buy them, and what their handlers are made of."""
