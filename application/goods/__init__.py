"""Buying goods: the jobs that ask providers, and what is asked of them."""
