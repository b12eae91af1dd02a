"""What people do to jobs beside retrying and cancelling them."""
