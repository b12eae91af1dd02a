"""`counterfoil providers` and `counterfoil credentials`: where goods are bought."""
