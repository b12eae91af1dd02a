"""What is written, for whoever measures it."""
