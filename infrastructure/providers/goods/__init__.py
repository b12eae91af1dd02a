"""Providers of goods over HTTP: adapters of the port `GoodsProvider`."""
