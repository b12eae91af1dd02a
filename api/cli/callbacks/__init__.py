"""`callbacks`: what providers tell by themselves."""
