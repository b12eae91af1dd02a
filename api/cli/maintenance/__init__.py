"""`counterfoil maintenance`: what is closed, and closing and opening it by hand."""
