"""The API's throughput beside a bare route of the same framework and server.

python -m bench.http [--quick]
"""
