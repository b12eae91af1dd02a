"""`counterfoil restore-guard`: whether anything may be bought after a restore."""
