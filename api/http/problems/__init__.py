"""What goes wrong, told as RFC 9457 says: a closed catalogue, one way to render."""
