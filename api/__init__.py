"""The edge: parse, call one use case or one read model, render.

May import application, projections and domain; only its entry point, api.__main__,
imports infrastructure.bootstrap.
"""
