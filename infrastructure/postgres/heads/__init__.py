"""Heads: one table a module; how its rows are locked, read and written.

Writing goes through `jsonb_populate_recordset`, one statement for all heads of a
kind in a batch, so the columns are named once, in the table itself.
"""
