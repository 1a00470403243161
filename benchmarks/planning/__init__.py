"""How long it takes to find out which files of a table a query must read."""
