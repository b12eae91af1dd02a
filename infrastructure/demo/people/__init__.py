"""The people of a demo: operators with their commands, and somebody at the panel."""
