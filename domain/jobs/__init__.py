"""The generic queue's aggregate: events, state, rules, outcomes and backoff."""
