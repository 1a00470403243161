"""Experiments whose results stand on pages that the programs write themselves."""
