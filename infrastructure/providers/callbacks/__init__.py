"""Callbacks of providers, kept in `counterfoil.provider_callbacks`."""
