"""Benchmarks of spark-zorder; they are not part of the package."""
