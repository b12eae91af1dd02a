"""Deliveries of goods: what operators ask and decide about them."""
