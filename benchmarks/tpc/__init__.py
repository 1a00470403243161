"""All queries of TPC-DS and TPC-H on several layouts of the large tables."""
