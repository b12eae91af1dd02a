"""The commands that containers use."""
