"""What is asked of the read models: filters in, one page out, with its position."""
