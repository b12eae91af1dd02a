"""What is true now, read off the heads: never behind what was committed."""
