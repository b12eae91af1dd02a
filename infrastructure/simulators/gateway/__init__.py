"""A seller of digital goods with a durable ledger and switchable faults."""
