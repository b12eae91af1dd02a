"""What people have said about deliveries of goods, and what lets them say more."""
