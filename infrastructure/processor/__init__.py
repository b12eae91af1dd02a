"""The processor: claim, run, settle, with heartbeats, rescue and a polite stop.

claim loop ──► ready jobs ──► handler threads ──► settle queue ──► settler
    ▲ slots reserved first         ▲ heartbeat extends leases, brings cancel requests
"""
