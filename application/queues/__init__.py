"""What people may do to queues and to the workers that serve them."""
