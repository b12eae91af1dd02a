"""Scripts that are run inside a service, each printing what can be seen from there."""
