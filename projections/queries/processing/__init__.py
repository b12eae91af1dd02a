"""What processes do: queues with their pauses and limits, and the workers."""
