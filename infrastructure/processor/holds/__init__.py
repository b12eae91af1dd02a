"""What holds a process back from claiming: pauses and limits of queues, its drain."""
