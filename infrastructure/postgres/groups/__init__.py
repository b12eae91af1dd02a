"""Groups of the batch store with more beside their changes."""
