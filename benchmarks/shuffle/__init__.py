"""What could make the shuffle of OPTIMIZE cheaper: the codec, and fewer partitions than files."""
