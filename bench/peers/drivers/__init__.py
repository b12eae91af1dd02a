"""One driver for each queue; those of the peers run in an environment of their own."""
