"""Events and streams: the log as people search it, and one event whole.

What an event holds is masked; whoever may see it says so, with a reason, and that look
is on record before anything is told.
"""
