"""What the order of a table costs an INSERT, and what the files are worth."""
