"""Lists over a million rows: each filter alone, in pairs, near and deep, and counted.

python -m bench.peers --only lists
"""
