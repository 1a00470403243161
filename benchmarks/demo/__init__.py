"""The effect of layouts: TPC-DS ``store_sales`` in three layouts, measured and drawn."""
