"""`doctor`: whether an installation is well, and what would help."""
