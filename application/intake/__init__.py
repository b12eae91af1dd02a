"""What shops and programs ask for from outside: orders, refunds and jobs."""
