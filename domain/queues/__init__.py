"""What people say about queues: pauses that end by themselves, and limits."""
