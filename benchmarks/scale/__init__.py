"""OPTIMIZE of very many files on a cluster."""
