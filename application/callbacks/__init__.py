"""What providers tell by themselves: recorded once, applied, and replayed by people."""
