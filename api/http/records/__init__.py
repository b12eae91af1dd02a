"""What operators and shops look at: lists and details of jobs, records and letters.

Each handler parses, asks one query, and renders; nothing of it changes anything.
"""
