"""Rows of plain tables, and the record of what people do to them (I9)."""
