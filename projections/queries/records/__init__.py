"""Lists of records: operations, orders, entitlements, drifts, and the audit.

What a row's own stream does not tell is looked up in the other read models, in the
same snapshot: a page tells the position of the one that is furthest behind.
"""
