"""Measurements of spark-zorder; not part of the package."""
