"""What keeps money from being spent: restore guard, limits, providers' health."""
