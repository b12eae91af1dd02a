"""The command line: one module for each group of commands, and how they are shown."""
