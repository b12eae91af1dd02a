"""What operators may do to jobs and operations, each with a reason."""
