"""Senders: the processes that ask providers, and the proof that one is dead."""
