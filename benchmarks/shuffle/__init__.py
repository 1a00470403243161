"""Ways to make the shuffle of OPTIMIZE cheaper: another codec, or fewer partitions."""
