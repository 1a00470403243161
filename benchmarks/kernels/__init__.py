"""Micro-benchmarks of the kernels: JMH in Scala, and a table of what it measured."""
