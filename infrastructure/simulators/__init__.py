"""Programs that imitate the outside world; they share no code with the product."""
