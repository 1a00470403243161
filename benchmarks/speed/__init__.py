"""The cost of OPTIMIZE, beside plain writing, sorting and the commands of table formats."""
