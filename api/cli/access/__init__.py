"""`counterfoil tokens` and `counterfoil people`: who may use the API."""
