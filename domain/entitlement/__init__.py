"""One customer's access: its desired and its observed state."""
