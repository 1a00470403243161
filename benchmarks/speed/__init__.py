"""What OPTIMIZE costs, beside plain writing, sorting and the commands of table formats."""
