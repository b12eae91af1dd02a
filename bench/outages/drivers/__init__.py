"""Workers of the peers that write down every run; see bench/outages/worker.py."""
