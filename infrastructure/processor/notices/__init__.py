"""Notices: an idle worker says so, and is woken by who gives birth to its work.

say idle and commit ──► look once more ──► wait ──► notice, or the next poll
        ▲                                                     │
        └──── a moment without work or notices ◄── sign down ─┘

Polling is the contract, a notice only a hint (mechanisms 15): one that is lost
costs an interval of the poller.  `NOTIFY` serialises commits, so the sign stands
only while there is nothing to do, and comes down with the first notice.
"""
