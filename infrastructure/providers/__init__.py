"""Providers of the outside world, each behind a port of the application."""
