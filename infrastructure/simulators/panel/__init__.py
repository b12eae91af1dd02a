"""A Remnawave 3.2.2 panel with a durable book and switchable faults."""
