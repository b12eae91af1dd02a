"""What operators asked for and were refused."""
