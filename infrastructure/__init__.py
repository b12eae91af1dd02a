"""PostgreSQL, providers and processes: implements the ports and wires them together.

May import application, projections and domain; never api.
"""
