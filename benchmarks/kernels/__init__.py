"""Micro-benchmarks of the kernels: JMH in Scala, and a table of the results."""
