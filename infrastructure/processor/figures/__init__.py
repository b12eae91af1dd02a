"""What claims and endings come to, for whoever measures them; of whole batches."""
