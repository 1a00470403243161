"""What a layout is worth: TPC-DS ``store_sales`` laid out three ways, measured and pictured."""
