"""Projections as a part of a process: which ones it leads, and its thread for them.

runner ──► leadership    which projections are ours, renewed every few seconds
   └─────► rounds        a batch of each in turn, while there is more
              └────────► episodes    what goes wrong is told once, not ten times a
                                     second
"""
