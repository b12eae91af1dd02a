"""Who may do what: permissions, and the roles that are made of them."""
