"""One operation on a panel: from its request to its end."""
