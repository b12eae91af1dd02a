"""`history`: what jobs and operations went through, attempt by attempt."""
