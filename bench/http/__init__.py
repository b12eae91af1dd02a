"""The API's throughput beside a bare route of the same framework and server.

python -m bench.http [--quick]          the API and the bare route, in turn
python -m bench.http lists [--quick]    lists over a million rows, over HTTP
python -m bench.http bulk [--quick]     10,000 jobs in one transaction
python -m bench.http all                these, one after the other
"""
