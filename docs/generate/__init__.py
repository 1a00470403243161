"""Pages that are made from the code they describe, and pictures."""
