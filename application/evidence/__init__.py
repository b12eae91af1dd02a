"""Files that show what became of a purchase: kept once, by what they hold."""
