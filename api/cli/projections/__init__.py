"""`counterfoil projections`: where they stand, and what a person does about them."""
