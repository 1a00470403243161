"""Measures how long it takes to find the files of a query."""
